// api/graph/graph.cpp - graphs: made, copied, given what they keep, given up.
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/core/to_string.hpp>

#include "api/memory/captured_memory.hpp"
#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/graph/conditional_bodies.hpp"
#include "api/graph/graph_book.hpp"
#include "api/graph/graph_use.hpp"
#include "api/graph/node_calls.hpp"
#include "api/deferred/reclaimer.hpp"

#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::subject;
using detail::usable;

namespace {

// What the driver calls when the last user is gone, on a thread where nothing may be destroyed.
void CUDA_CB let_go_of_kept(void* data) { detail::leave_program_chore(*static_cast<detail::chore*>(data)); }

}  // namespace

void detail::destroy_owned(CUgraph_st* graph) noexcept {
  if (is_lost(graph)) return;
  if (captures_open() && leave_to_capture(graph)) return;
  forget_graph(graph);
  note_graph_destroyed(graph);
  check_unraised(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
}

CUctx_st* detail::home_of(const graph& captured) noexcept { return captured.context_; }

CUgraph_st* detail::take_out_of(graph& owner) noexcept {
  return std::exchange(owner.handle_, closed_handle<CUgraph_st>());
}

void detail::keep_in_graph(CUgraph_st* graph, chore& object, call_site at) {
  // Until the driver has it, it is destroyed here.
  struct guard {
    chore* object;
    ~guard() {
      if (object != nullptr) static_cast<void>(object->run(*object));
    }
  } ours{&object};
  const graph_ref on{graph};
  CUgraph_st* const handle = usable(on, "cuUserObjectCreate", at);
  abi::CUuserObject owner = nullptr;
  check(driver().cuUserObjectCreate(&owner, &object, &let_go_of_kept, 1, abi::CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        "cuUserObjectCreate", subject::graph(handle), at);
  ours.object = nullptr;
  const abi::CUresult answer = driver().cuGraphRetainUserObject(handle, owner, 1, abi::CU_GRAPH_USER_OBJECT_MOVE);
  if (answer == abi::CUDA_SUCCESS) return;
  check_unraised(driver().cuUserObjectRelease(owner, 1), "cuUserObjectRelease", subject::graph(handle));
  check(answer, "cuGraphRetainUserObject", subject::graph(handle), at);
}

graph graph_ref::clone(call_site at) const {
  CUgraph_st* const handle = usable(*this, "cuGraphClone", at);
  abi::CUgraph copy = nullptr;
  if (const abi::CUresult answer = driver().cuGraphClone(&copy, handle); answer != abi::CUDA_SUCCESS) {
    detail::fail_copying(answer, *this, at);
  }
  detail::forget_graph(copy);
  graph made = graph::adopt(copy, at);
  detail::copy_notes(handle, copy, at);
  return made;
}

graph::graph(call_site at) : handle_{detail::closed_handle<CUgraph_st>()} {
  detail::permit("cuGraphCreate", {}, at);
  abi::CUgraph made = nullptr;
  check(driver().cuGraphCreate(&made, 0), "cuGraphCreate", {}, at);
  detail::forget_graph(made);
  handle_ = made;
}

graph graph::adopt(CUgraph_st* handle, call_site at) { return adopt(handle, context_ref{nullptr}, at); }

graph graph::adopt(CUgraph_st* handle, context_ref context, call_site at) {
  constexpr const char* call = "weir::graph::adopt";
  usable(graph_ref{handle}, call, at);
  if (handle == nullptr) detail::fail(errc::invalid_handle, call, "null", "there is no graph to take over", at);
  if (context.get() == detail::closed_handle<CUctx_st>()) detail::fail_closed(call, subject{context.get()}, at);
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
  detail::destroy_or_leave([handle = handle_] { detail::destroy_owned(handle); });
}

void graph::close(call_site at) {
  if (closed()) return;
  if (detail::is_lost(handle_)) {
    detail::take_out_of(*this);
    return;
  }
  CUgraph_st* const handle = detail::finished(ref(), "cuGraphDestroy", at);
  handle_ = detail::closed_handle<CUgraph_st>();
  detail::leaving_notes notes{handle};
  detail::note_graph_destroyed(handle);
  const abi::CUresult answer = driver().cuGraphDestroy(handle);
  if (answer != abi::CUDA_SUCCESS) notes.kept();
  check(answer, "cuGraphDestroy", subject::graph(handle), at);
}

CUgraph_st* graph::release(call_site at) {
  if (closed()) detail::fail_closed("weir::graph::release", subject::graph(handle_), at);
  detail::note_graph_released(handle_);
  return detail::take_out_of(*this);
}

graph graph::clone(call_site at) const {
  graph copy = ref().clone(at);
  copy.context_ = context_;
  return copy;
}

}  // namespace weir
