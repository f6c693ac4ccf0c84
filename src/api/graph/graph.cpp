// api/graph/graph.cpp - graphs: made, copied, given what they keep, given up.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>

#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/graph/conditional_bodies.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/node_calls.hpp"
#include "api/memory/captured_memory.hpp"

#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;
using detail::subject;

namespace {

// What the driver calls when the last user is gone, on a thread where nothing may be destroyed.
void CUDA_CB release_kept_object(void* data) {
  detail::defer_user_destructor(*static_cast<detail::deferred_task*>(data));
}

}  // namespace

void detail::destroy_owned_graph(CUgraph_st* graph) noexcept {
  if (is_lost(graph)) return;
  if (any_capture_active() && transfer_to_capture(graph)) return;
  forget_metadata(graph);
  note_graph_destroyed(graph);
  report_if_failed(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
}

CUctx_st* detail::instantiate_context_of(const graph& captured) noexcept {
  return captured.context_;
}

CUgraph_st* detail::detach_graph(graph& owner) noexcept {
  return std::exchange(owner.handle_, closed_handle<CUgraph_st>());
}

void detail::keep_in_graph(CUgraph_st* graph, deferred_task& object, call_site at) {
  // Until the driver has it, it is destroyed here.
  struct guard {
    deferred_task* object;
    ~guard() {
      if (object != nullptr) static_cast<void>(object->run(*object));
    }
  } pending{&object};
  const graph_ref on{graph};
  CUgraph_st* const handle = require_open(on, "cuUserObjectCreate", at);
  abi::CUuserObject owner = nullptr;
  check(driver().cuUserObjectCreate(&owner, &object, &release_kept_object, 1,
                                    abi::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate", subject::graph(handle), at);
  pending.object = nullptr;
  const abi::CUresult answer =
      driver().cuGraphRetainUserObject(handle, owner, 1, abi::CU_GRAPH_USER_OBJECT_MOVE);
  if (answer == abi::CUDA_SUCCESS) return;
  report_if_failed(driver().cuUserObjectRelease(owner, 1), "cuUserObjectRelease",
                   subject::graph(handle));
  check(answer, "cuGraphRetainUserObject", subject::graph(handle), at);
}

graph graph_ref::clone(call_site at) const {
  CUgraph_st* const handle = require_open(*this, "cuGraphClone", at);
  abi::CUgraph copy = nullptr;
  if (const abi::CUresult answer = driver().cuGraphClone(&copy, handle);
      answer != abi::CUDA_SUCCESS) {
    detail::fail_clone(answer, *this, at);
  }
  detail::forget_metadata(copy);
  graph created = graph::adopt(copy, at);
  detail::copy_metadata(handle, copy, at);
  return created;
}

graph::graph(call_site at) : handle_{detail::closed_handle<CUgraph_st>()} {
  detail::require_outside_host_function("cuGraphCreate", {}, at);
  abi::CUgraph created = nullptr;
  check(driver().cuGraphCreate(&created, 0), "cuGraphCreate", {}, at);
  detail::forget_metadata(created);
  handle_ = created;
}

graph graph::adopt(CUgraph_st* handle, call_site at) {
  return adopt(handle, context_ref{nullptr}, at);
}

graph graph::adopt(CUgraph_st* handle, context_ref context, call_site at) {
  constexpr const char* call = "weir::graph::adopt";
  require_open(graph_ref{handle}, call, at);
  if (handle == nullptr)
    detail::throw_error(errc::invalid_handle, call, "null", "there is no graph to take over", at);
  if (context.get() == detail::closed_handle<CUctx_st>())
    detail::throw_closed(call, subject{context.get()}, at);
  return graph{handle, context.get()};
}

graph& graph::operator=(graph&& other) noexcept {
  graph taken{std::move(other)};
  std::swap(handle_, taken.handle_);
  std::swap(context_, taken.context_);
  return *this;
}

graph::~graph() {
  if (closed()) return;
  detail::destroy_or_defer([handle = handle_] { detail::destroy_owned_graph(handle); });
}

void graph::close(call_site at) {
  if (closed()) return;
  if (detail::is_lost(handle_)) {
    detail::detach_graph(*this);
    return;
  }
  CUgraph_st* const handle = detail::require_not_capturing(ref(), "cuGraphDestroy", at);
  handle_ = detail::closed_handle<CUgraph_st>();
  detail::metadata_removal removal{handle};
  detail::note_graph_destroyed(handle);
  const abi::CUresult answer = driver().cuGraphDestroy(handle);
  if (answer != abi::CUDA_SUCCESS) removal.restore();
  check(answer, "cuGraphDestroy", subject::graph(handle), at);
}

CUgraph_st* graph::release(call_site at) {
  if (closed()) detail::throw_closed("weir::graph::release", subject::graph(handle_), at);
  detail::note_graph_released(handle_);
  return detail::detach_graph(*this);
}

graph graph::clone(call_site at) const {
  graph copy = ref().clone(at);
  copy.context_ = context_;
  return copy;
}

}  // namespace weir
