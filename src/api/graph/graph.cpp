// SPDX-License-Identifier: Apache-2.0
// api/graph/graph.cpp - creates, adopts and destroys graphs, and lets them keep objects.
#include <weir/device/context.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>

#include "api/capture/capture_abandon.hpp"
#include "api/capture/capture_checks.hpp"
#include "api/core/check.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/user_object.hpp"
#include "api/memory/captured_memory.hpp"

#include <utility>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;
using detail::subject;

void detail::destroy_owned_graph(CUgraph_st* graph) noexcept {
  if (is_unusable(graph)) return;
  if (any_capture_active() && transfer_to_capture(graph)) return;
  forget_metadata(graph);
  report_if_failed(driver().cuGraphDestroy(graph), "cuGraphDestroy", subject::graph(graph));
}

CUctx_st* detail::instantiate_context_of(const graph& captured) noexcept {
  return captured.context_;
}

CUgraph_st* detail::detach_graph(graph& owner) noexcept {
  return owner.exchange_handle(closed_handle<CUgraph_st>());
}

void detail::keep_in_graph(CUgraph_st* graph, keep_alive_ref owner, call_site at) {
  move_to_graph(require_open(graph_ref{graph}, "cuUserObjectCreate", at), std::move(owner), at);
}

graph::graph(call_site at) : graph_ref{detail::closed_handle<CUgraph_st>()} {
  detail::require_outside_host_function("cuGraphCreate", {}, at);
  abi::CUgraph created = nullptr;
  check(driver(at).cuGraphCreate(&created, 0), "cuGraphCreate", {}, at);
  detail::forget_metadata(created);
  exchange_handle(created);
}

graph graph::adopt(CUgraph_st* handle, call_site at) {
  return adopt(handle, context_ref{nullptr}, at);
}

graph graph::adopt(CUgraph_st* handle, context_ref context, call_site at) {
  constexpr const char* call = "weir::graph::adopt";
  require_open(graph_ref{handle}, call, at);
  if (handle == nullptr)
    detail::throw_error(errc::invalid_handle, call, "null",
                        "the graph is null; pass an existing graph", at);
  if (context.get() == detail::closed_handle<CUctx_st>())
    detail::throw_closed(call, subject{context.get()}, at);
  return graph{handle, context.get()};
}

graph& graph::operator=(graph&& other) noexcept {
  graph replacement{std::move(other)};
  std::swap<graph_ref>(*this, replacement);
  std::swap(context_, replacement.context_);
  return *this;
}

graph::~graph() {
  if (closed()) return;
  detail::destroy_or_defer([handle = get()] { detail::destroy_owned_graph(handle); });
}

void graph::close(call_site at) {
  if (closed()) return;
  if (detail::is_unusable(get())) {
    detail::detach_graph(*this);  // leaks the graph: a GPU's driver would crash
    return;
  }
  CUgraph_st* const handle = detail::require_not_capturing(*this, "cuGraphDestroy", at);
  detail::detach_graph(*this);
  detail::metadata_removal removal{handle};
  const abi::CUresult answer = driver().cuGraphDestroy(handle);
  if (answer != abi::CUDA_SUCCESS) removal.restore();
  check(answer, "cuGraphDestroy", subject::graph(handle), at);
}

CUgraph_st* graph::release(call_site at) {
  if (closed()) detail::throw_closed("weir::graph::release", subject::graph(get()), at);
  detail::disown_captured_memory(get());
  return detail::detach_graph(*this);
}

graph graph::clone(call_site at) const {
  graph copy = graph_ref::clone(at);
  copy.context_ = context_;
  return copy;
}

}  // namespace weir
