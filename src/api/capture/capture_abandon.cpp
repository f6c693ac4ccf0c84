// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_abandon.cpp - ends captures without a result and restores their graphs.
#include "api/capture/capture_abandon.hpp"

#include "api/capture/capture_end.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/core/first_failure.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"
#include "api/memory/captured_memory.hpp"

#include <weir/graph/graph.hpp>

#include <algorithm>
#include <vector>

namespace weir::detail {
namespace {

// Makes the next operation of the origin stream depend on all nodes of the graph, so that no stream
// is unjoined. Otherwise the end of the capture would fail, and the driver would destroy the graph.
void join_all_before_end(CUstream stream) noexcept {
  try {
    stream_capture_info info;
    if (try_query_capture(stream, info) != CUDA_SUCCESS ||
        info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
      return;
    if (is_unusable(info.graph)) return;  // the driver may crash on an unusable graph
    std::vector<CUgraphNode> nodes = nodes_of(info.graph, {});
    static_cast<void>(set_frontier(stream, nodes.data(), nullptr, nodes.size(),
                                   CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
  } catch (...) {  // cuStreamEndCapture reports the failure
  }
}

// Removes the nodes that the capture added. If the driver refuses to remove a node, such as an
// allocation, the node stays in the graph. Reports the first failure.
void remove_recorded(CUgraph graph, const std::vector<CUgraphNode>& existing_nodes) noexcept {
  constexpr const char* call = "cuGraphDestroyNode";
  if (is_unusable(graph)) return;
  first_failure failure;
  try {
    for (const CUgraphNode node : nodes_of(graph, {})) {
      if (std::ranges::binary_search(existing_nodes, node)) continue;
      try {
        graph_ref{graph}.remove(graph_node{node, graph}, {});
      } catch (...) {
        failure.note_exception(call);
      }
    }
  } catch (...) {
    failure.note_exception(call);
  }
  report_if_failed(failure, subject::graph(graph));
}

// Cleans up after a capture whose graph the driver has destroyed. Returns the graph if it was
// borrowed, else null.
CUgraph discard_destroyed(const capture_record& record) noexcept {
  const active_capture& capture = record.capture;
  // The handle of a new graph may already name a graph that another thread has just created.
  if (capture.has_existing_graph) mark_destroyed(capture.graph);
  if (!capture.borrows_graph()) return nullptr;
  const CUgraph ownerless = record.ownerless_graph;
  if (ownerless != nullptr && ownerless != capture.graph) destroy_owned_graph(ownerless);
  // capture.owner is not used if it was destroyed, or if the captured code has moved the graph to
  // another object.
  if (ownerless == nullptr && capture.owner != nullptr && capture.owner->get() == capture.graph)
    detach_graph(*capture.owner);
  return capture.graph;
}

}  // namespace

driver_end_result end_in_driver(CUstream stream) noexcept {
  CUgraph graph = nullptr;
  const CUresult answer = driver().cuStreamEndCapture(stream, &graph);
  if (answer == CUDA_SUCCESS) return {answer, graph};
  if (is_in_capture(stream) && driver().cuStreamEndCapture(stream, &graph) == CUDA_SUCCESS)
    return {answer, graph};
  return {answer, nullptr};  // see driver_end_result
}

CUgraph discard_recorded(const capture_record& record, const driver_end_result& end) noexcept {
  if (record.capture.borrows_graph() && end.graph != nullptr) {
    // The driver refuses to remove the nodes that allocate and free memory, so the graph owns that
    // memory.
    own_captured_memory(record.capture.id, end.graph);
    remove_recorded(end.graph, record.existing_nodes);
    destroy_ownerless(record);
    return nullptr;
  }
  note_never_existed(record.capture.id);
  if (end.graph != nullptr) destroy_owned_graph(end.graph);
  // After ILLEGAL_STATE, other code has ended the capture and has the graph.
  if (end.graph != nullptr || end.answer == CUDA_ERROR_ILLEGAL_STATE) return nullptr;
  return discard_destroyed(record);
}

void destroy_ownerless(const capture_record& record) noexcept {
  if (record.ownerless_graph != nullptr) destroy_owned_graph(record.ownerless_graph);
}

bool transfer_to_capture(CUgraph graph) noexcept {
  const auto records_into = [&](const capture_record& record) {
    return record.capture.borrows_graph() && is_part_of(record.capture.graph, graph);
  };
  capture_registry& registry = capture_registry::instance();
  if (!registry.find_if(records_into)) return false;
  static_cast<void>(remove_ended_captures());
  bool is_transferred = false;
  registry.for_each([&](capture_record& record) {
    if (is_transferred || !records_into(record)) return;
    record.ownerless_graph = graph;
    is_transferred = true;
  });
  return is_transferred;
}

void abandon_capture(stream_ref stream, unsigned long long capture) noexcept {
  if (os::in_forked_child()) return;
  capture_registry& registry = capture_registry::instance();
  const capture_record* const ending = registry.begin_end(capture);
  if (ending == nullptr) return;
  // If other code has ended the capture directly through the driver, an open capture in that stream
  // is a different one and must not be ended.
  if (has_ended(stream.get(), capture)) {
    static_cast<void>(registry.finish_end(capture));  // destroys the record
    return;
  }
  if (ending->capture.borrows_graph()) join_all_before_end(stream.get());
  const driver_end_result end = end_in_driver(stream.get());
  const auto record = registry.finish_end(capture);
  discard_recorded(*record, end);
  switch (end.answer) {
    case CUDA_SUCCESS:
    // These results are expected when captured code has thrown, so they are not reported.
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD:
    case CUDA_ERROR_ILLEGAL_STATE: return;
    default: report_unhandled(static_cast<errc>(end.answer), end_capture_call, stream);
  }
}

}  // namespace weir::detail
