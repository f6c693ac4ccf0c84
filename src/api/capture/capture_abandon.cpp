// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_abandon.cpp - ends captures without a result and restores their graphs.
#include "api/capture/capture_abandon.hpp"

#include "api/capture/capture_registry.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/core/first_failure.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/memory/captured_memory.hpp"

#include <weir/graph/graph.hpp>

#include <algorithm>
#include <vector>

namespace weir::detail {
namespace {

// Makes the origin depend on all existing nodes. An end with unjoined streams would fail and
// destroy the graph. The origin records nothing more.
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

// Removes the nodes that the capture added. Nothing more can be done for a node that the driver
// refuses to remove.
void remove_recorded(CUgraph graph, const std::vector<CUgraphNode>& existing_nodes) noexcept {
  if (is_unusable(graph)) return;
  report_failure_of(subject::graph(graph), "cuGraphDestroyNode", [&] {
    for (const CUgraphNode node : nodes_of(graph, {})) {
      if (!std::ranges::binary_search(existing_nodes, node))
        graph_ref{graph}.remove(graph_node{node, graph}, {});
    }
  });
}

}  // namespace

driver_end_result end_in_driver(CUstream stream) noexcept {
  CUgraph graph = nullptr;
  const CUresult answer = driver().cuStreamEndCapture(stream, &graph);
  if (answer == CUDA_SUCCESS) return {answer, graph};
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph remaining_graph = nullptr;
  const bool is_open = driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
                       status != CU_STREAM_CAPTURE_STATUS_NONE;
  if (is_open && driver().cuStreamEndCapture(stream, &remaining_graph) == CUDA_SUCCESS)
    return {answer, remaining_graph};
  return {answer, nullptr};  // the driver destroyed the graph with the capture
}

bool has_ended(unsigned long long scope, CUstreamCaptureStatus status, cuuint64_t id) noexcept {
  return status == CU_STREAM_CAPTURE_STATUS_NONE ||
         (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && scope != 0 && id != scope);
}

CUgraph discard_recorded(const active_capture& capture, const capture_record* record,
                         CUgraph remaining_graph) noexcept {
  if (capture.borrowed && remaining_graph != nullptr) {
    note_captured_graph(capture.id, remaining_graph);  // memory nodes stay in the graph
    if (record != nullptr) remove_recorded(remaining_graph, record->existing_nodes);
    return nullptr;
  }
  note_nothing_captured(capture.id);
  if (remaining_graph != nullptr) destroy_owned_graph(remaining_graph);
  if (remaining_graph == nullptr && capture.into_existing_graph) mark_destroyed(capture.graph);
  return remaining_graph == nullptr && capture.borrowed ? capture.graph : nullptr;
}

bool transfer_to_capture(CUgraph graph) noexcept {
  const auto transfer = [&](auto&& action) {
    bool found = false;
    capture_registry::instance().for_each([&](capture_record& record) {
      if (found || !record.capture.borrowed || !is_part_of(record.capture.graph, graph)) return;
      found = true;
      action(record);
    });
    return found;
  };
  if (!transfer([](capture_record&) {})) return false;
  static_cast<void>(remove_ended_captures());
  return transfer([&](capture_record& record) { record.ownerless_graph = graph; });
}

void destroy_ownerless(CUgraph ownerless_graph, CUgraph destroyed) noexcept {
  if (ownerless_graph != nullptr && ownerless_graph != destroyed)
    destroy_owned_graph(ownerless_graph);
}

bool abandon_capture(stream_ref stream, unsigned long long scope) noexcept {
  if (in_forked_child()) return false;
  const auto record = capture_registry::instance().remove(scope);
  if (record == nullptr) return false;  // it has ended
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  // The capture ended directly through the driver. A newer capture in that stream is not weir's.
  if (query_capture_id(stream.get(), status, id) == CUDA_SUCCESS && has_ended(scope, status, id))
    return false;
  if (record->capture.borrowed) join_all_before_end(stream.get());
  const driver_end_result end = end_in_driver(stream.get());
  const CUgraph destroyed = discard_recorded(record->capture, record.get(), end.graph);
  switch (end.answer) {
    case CUDA_SUCCESS:
    // These results follow from the exception in the body and are not failures of the end.
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_ILLEGAL_STATE: break;
    default: report_unhandled(static_cast<errc>(end.answer), "cuStreamEndCapture", stream);
  }
  destroy_ownerless(record->ownerless_graph, destroyed);
  return destroyed != nullptr && record->ownerless_graph == nullptr;
}

}  // namespace weir::detail
