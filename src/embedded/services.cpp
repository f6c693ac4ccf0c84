// embedded/services.cpp - from the services to the engine and the model.
#include "embedded/services.hpp"

#include "embedded/engine/failure_hook.hpp"
#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/context.hpp"
#include "embedded/model/stream/event.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded {
namespace {

using namespace abi;
using detail::engine_notice;
using detail::work_home;
using detail::work_point;

engine::point to_point(const work_point& point) noexcept {
  return {static_cast<engine::timeline*>(point.line), point.count};
}

CUresult end_of(CUstream handle, work_point& end, work_home& home) noexcept {
  return entry::guarded([&](model::process& p) -> CUresult {
    model::stream* found = nullptr;
    if (const CUresult status = entry::find_stream_to_ask(p, handle, found); status != CUDA_SUCCESS) return status;
    if (const CUresult status = model::refuse_broken_capture(*found); status != CUDA_SUCCESS) return status;
    if (found->capture() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const engine::point at = found->record();
    end = {at.line, at.count};
    home = {&found->owner(), found->owner().life()};
    return CUDA_SUCCESS;
  });
}

CUresult end_of_event(CUevent handle, work_point& end, work_home& home) noexcept {
  return entry::guarded([&](model::process& p) -> CUresult {
    model::event* found = nullptr;
    if (const CUresult status = entry::find_event(p, handle, found); status != CUDA_SUCCESS) return status;
    if (found->shared()) return CUDA_ERROR_NOT_SUPPORTED;
    const engine::point at = found->recorded_point();
    end = {at.line, at.count};
    home = {&found->owner(), found->owner().life()};
    return CUDA_SUCCESS;
  });
}

bool reached(const work_point& point) noexcept { return to_point(point).reached(); }

CUresult health(const work_home& home) noexcept {
  const auto* const context = static_cast<const model::context*>(home.context);
  const CUresult status = context->status();
  // A primary context that was reset is the same object in another life.
  return status == CUDA_SUCCESS && context->life() != home.life ? CUDA_ERROR_CONTEXT_IS_DESTROYED : status;
}

bool wait_awake(const work_point& point) noexcept { return engine::wait_awake_for_host(to_point(point)); }

bool help(const work_point& point) noexcept { return engine::help_once(to_point(point)); }

bool tell(const work_point& point, engine_notice& whom) { return to_point(point).line->add_notice(whom, point.count); }

bool untell(const work_point& point, engine_notice& whom) noexcept { return to_point(point).line->remove_notice(whom); }

constexpr detail::engine_services all{
    .end_of = &end_of,
    .end_of_event = &end_of_event,
    .reached = &reached,
    .health = &health,
    .wait_awake = &wait_awake,
    .help = &help,
    .tell = &tell,
    .untell = &untell,
    .on_failure = &engine::call_on_failure,
};

}  // namespace

const detail::engine_services& services() noexcept { return all; }

}  // namespace weir::embedded
