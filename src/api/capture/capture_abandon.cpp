// api/capture/capture_abandon.cpp - captures that come to nothing: ended, and their graphs as they were.
#include "api/capture/capture_registry.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/capture/driver_frontier.hpp"
#include "api/core/first_failure.hpp"
#include "api/graph/graph_book.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/graph_use.hpp"

#include <weir/graph/graph.hpp>

#include <algorithm>
#include <vector>

namespace weir::detail {
namespace {

// So that the end does not fail for streams that were not joined, which would destroy the graph: the stream comes after all
// nodes that there are, and gets none any more.
void join_all_before_end(CUstream stream) noexcept {
  try {
    capture_part part;
    if (ask_capture(stream, part) != CUDA_SUCCESS || part.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    if (is_lost(part.graph)) return;  // nothing is asked of such a graph
    std::vector<CUgraphNode> nodes = nodes_of(part.graph, {});
    static_cast<void>(set_frontier(stream, nodes.data(), nullptr, nodes.size(), CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
  } catch (...) {  // the end tells
  }
}

// Where the driver keeps a node, nothing else can be done.
void take_out_recorded(CUgraph graph, const std::vector<CUgraphNode>& before) noexcept {
  if (is_lost(graph)) return;
  report_what_fails(subject::graph(graph), "cuGraphDestroyNode", [&] {
    for (const CUgraphNode node : nodes_of(graph, {})) {
      if (!std::ranges::binary_search(before, node)) graph_ref{graph}.remove(graph_node{node, graph}, {});
    }
  });
}

}  // namespace

driver_end end_in_driver(CUstream stream) noexcept {
  CUgraph graph = nullptr;
  const CUresult answer = driver().cuStreamEndCapture(stream, &graph);
  if (answer == CUDA_SUCCESS) return {answer, graph};
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  CUgraph left = nullptr;
  const bool is_open =
      driver().cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
  if (is_open && driver().cuStreamEndCapture(stream, &left) == CUDA_SUCCESS) return {answer, left};
  return {answer, nullptr};  // destroyed by the driver with the capture
}

bool has_ended(unsigned long long scope, CUstreamCaptureStatus status, cuuint64_t id) noexcept {
  return status == CU_STREAM_CAPTURE_STATUS_NONE ||
         (status == CU_STREAM_CAPTURE_STATUS_ACTIVE && scope != 0 && id != scope);
}

CUgraph give_up_recorded(const open_capture& what, const capture_record* record, CUgraph left) noexcept {
  if (what.given && left != nullptr) {
    note_captured_graph(what.id, left);  // memory nodes are not let go of
    if (record != nullptr) take_out_recorded(left, record->before);
    return nullptr;
  }
  note_nothing_captured(what.id);
  if (left != nullptr) destroy_owned(left);
  if (left == nullptr && what.was_there) note_destroyed(what.graph);
  return left == nullptr && what.given ? what.graph : nullptr;
}

bool leave_to_capture(CUgraph graph) noexcept {
  const auto leave = [&](auto&& with) {
    bool found = false;
    capture_registry::instance().each([&](capture_record& record) {
      if (found || !record.what.given || !is_part_of(record.what.graph, graph)) return;
      found = true;
      with(record);
    });
    return found;
  };
  if (!leave([](capture_record&) {})) return false;
  static_cast<void>(drop_ended_captures());
  return leave([&](capture_record& record) { record.orphan = graph; });
}

void destroy_orphan(CUgraph orphan, CUgraph destroyed) noexcept {
  if (orphan != nullptr && orphan != destroyed) destroy_owned(orphan);
}

bool abandon_open_capture(stream_ref stream, unsigned long long scope) noexcept {
  if (in_forked_child()) return false;
  const auto ending = capture_registry::instance().take(scope);
  if (ending == nullptr) return false;  // it has ended
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  // Past weir: what there is now is none of ours.
  if (ask_which_capture(stream.get(), status, id) == CUDA_SUCCESS && has_ended(scope, status, id)) return false;
  if (ending->what.given) join_all_before_end(stream.get());
  const driver_end end = end_in_driver(stream.get());
  const CUgraph destroyed = give_up_recorded(ending->what, ending.get(), end.graph);
  switch (end.answer) {
    case CUDA_SUCCESS:
    // What the body left behind when it threw is no failure of its own.
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_UNJOINED:
    case CUDA_ERROR_ILLEGAL_STATE: break;
    default: report_unraised(static_cast<errc>(end.answer), "cuStreamEndCapture", stream);
  }
  destroy_orphan(ending->orphan, destroyed);
  return destroyed != nullptr && ending->orphan == nullptr;
}

}  // namespace weir::detail
