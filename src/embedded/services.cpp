// SPDX-License-Identifier: Apache-2.0
// embedded/services.cpp - implements the engine services with the engine and the model.
#include "embedded/services.hpp"

#include "embedded/engine/deterministic_scheduler.hpp"
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
using detail::engine_callback;
using detail::timeline_point;
using detail::work_context;

engine::point to_point(const timeline_point& point) noexcept {
  return {static_cast<engine::timeline*>(point.timeline), point.count};
}

CUresult store(engine::point end_point, model::context& owner_context, timeline_point& end,
               work_context& context) noexcept {
  end = {end_point.line, end_point.count};
  context = {&owner_context, owner_context.generation()};
  return CUDA_SUCCESS;
}

CUresult end_of_stream(CUstream handle, timeline_point& end, work_context& context) noexcept {
  return entry::guarded([&] {
    model::stream* found = nullptr;
    if (const CUresult error = entry::find_stream_for_query(handle, found)) return error;
    if (const CUresult error = model::check_capture_valid(*found)) return error;
    if (found->capture() != nullptr) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    const engine::point end_point = found->record();
    return store(end_point, found->owner(), end, context);
  });
}

CUresult end_of_event(CUevent handle, timeline_point& end, work_context& context) noexcept {
  return entry::guarded([&] {
    model::event* found = nullptr;
    if (const CUresult error = entry::find_event(handle, found)) return error;
    if (found->shared()) return CUDA_ERROR_NOT_SUPPORTED;
    const engine::point end_point = found->recorded_point();
    return store(end_point, found->owner(), end, context);
  });
}

bool reached(const timeline_point& point) noexcept { return to_point(point).reached(); }

CUresult context_status(const work_context& work) noexcept {
  const auto* const context = static_cast<const model::context*>(work.context);
  const CUresult status = context->status();
  // A primary context that was reset keeps its address, but has another generation.
  return status == CUDA_SUCCESS && context->generation() != work.generation
             ? CUDA_ERROR_CONTEXT_IS_DESTROYED
             : status;
}

bool wait_spinning(const timeline_point& point) noexcept {
  return engine::try_wait_for_host(to_point(point));
}

bool run_pending_work(const timeline_point& point) noexcept {
  return engine::run_ready_operations(to_point(point));
}

bool notify_at(const timeline_point& point, engine_callback& callback) {
  return to_point(point).line->add_callback(callback, point.count);
}

bool cancel_notification(const timeline_point& point, engine_callback& callback) noexcept {
  return to_point(point).line->remove_callback(callback);
}

engine::deterministic_scheduler& steps() noexcept {
  return *engine::scheduler::instance().deterministic();
}

void request_turn() noexcept {
  steps().library_thread().request_turn();
  steps().start_background_thread();
}

constexpr detail::deterministic_services deterministic_functions{
    .request_turn = &request_turn,
    .take_turn = []() noexcept { steps().library_thread().take_turn(); },
    .give_turn = []() noexcept { steps().library_thread().give_turn(); },
    .run_operation = []() noexcept { steps().step_or_sleep(); },
    .begin_long_call = []() noexcept { steps().begin_long_call(); },
    .end_long_call = []() noexcept { steps().end_long_call(); },
};

constexpr detail::engine_services engine_functions{
    .end_of_stream = &end_of_stream,
    .end_of_event = &end_of_event,
    .reached = &reached,
    .context_status = &context_status,
    .wait_spinning = &wait_spinning,
    .run_pending_work = &run_pending_work,
    .notify_at = &notify_at,
    .cancel_notification = &cancel_notification,
    .on_failure = &engine::add_failure_hook,
    .fail_device = &engine::fail_device,
    .deterministic = nullptr,
};

constexpr detail::engine_services deterministic_engine_functions = [] {
  detail::engine_services functions = engine_functions;
  functions.deterministic = &deterministic_functions;
  return functions;
}();

}  // namespace

const detail::engine_services& services() noexcept {
  return engine::scheduler::instance().deterministic() == nullptr ? engine_functions
                                                                  : deterministic_engine_functions;
}

}  // namespace weir::embedded
