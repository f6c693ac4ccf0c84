// entry/capture.cpp - cuStreamBeginCapture and what belongs to it.
#include "embedded/model/capture/capture.hpp"
#include "embedded/entry/graph/graph_handle.hpp"

#include <algorithm>
#include <utility>

namespace weir::embedded::entry {

namespace {

constexpr bool known(CUstreamCaptureMode mode) {
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
         mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

// Asks question(stream, answer) what the capture of a stream is like, and tells. Asking about the
// legacy stream breaks nothing, as using it would.
template <class Query, class Write>
CUresult query_capture(CUstream stream, CUstreamCaptureStatus* status, Query question,
                       Write write) {
  return guarded([&](model::process& p) -> CUresult {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* of = nullptr;
    if (const CUresult found = find_stream_for_query(p, stream, of); found != CUDA_SUCCESS)
      return found;
    model::capture::capture_info answer;
    if (of->capture() != nullptr) {
      const std::lock_guard lock{p.graphs_mutex};
      question(*of, answer);
    }
    *status = answer.status;
    write(answer);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* on = nullptr;
    if (!known(
            mode)) {  // found before the legacy stream's use breaks the captures of blocking ones
      const CUresult status = find_stream_for_query(p, stream, on);
      return status == CUDA_SUCCESS || status == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT
                 ? CUDA_ERROR_INVALID_VALUE
                 : status;
    }
    if (const CUresult status = find_stream(p, stream, on); status != CUDA_SUCCESS) return status;
    const std::lock_guard lock{p.graphs_mutex};
    return model::capture::begin(*on, mode);
  });
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                     size_t count, CUstreamCaptureMode mode) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* on = nullptr;
    if (const CUresult status = find_stream(p, stream, on); status != CUDA_SUCCESS) return status;
    const std::lock_guard lock{p.graphs_mutex};
    model::graph* into = find_graph(graph);
    if (into == nullptr || !known(mode)) return CUDA_ERROR_INVALID_VALUE;
    // Found before a fault in the nodes.
    if (const CUresult status = model::capture::check_begin(*on); status != CUDA_SUCCESS)
      return status;
    std::vector<model::graph_node*> predecessors;
    if (const CUresult status = find_nodes(dependencies, count, *into, predecessors);
        status != CUDA_SUCCESS)
      return status;
    if (!all_ordinary(edges, count)) return CUDA_ERROR_INVALID_VALUE;
    return model::capture::begin_to(*on, *into, std::move(predecessors), mode);
  });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* on = nullptr;
    if (const CUresult status = find_stream(p, stream, on); status != CUDA_SUCCESS) return status;
    const std::lock_guard lock{p.graphs_mutex};
    model::graph* made = nullptr;
    const CUresult status = model::capture::end(*on, graph != nullptr, made);
    if (graph != nullptr) *graph = made == nullptr ? nullptr : made->handle();
    return status;
  });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return query_capture(stream, status, model::capture::get_status,
                       [](const model::capture::capture_info&) {});
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  if (edges != nullptr && dependencies == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // Another thread may be reading what it was told of the frontier: it is told anew only to who
  // wants it.
  const auto question = dependencies != nullptr || count != nullptr ? model::capture::get_info
                                                                    : model::capture::get_status;
  return query_capture(stream, status, question, [&](const model::capture::capture_info& answer) {
    if (answer.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    if (id != nullptr) *id = answer.id;
    if (graph != nullptr) *graph = answer.into->handle();
    if (dependencies != nullptr) *dependencies = answer.frontier.data();
    if (edges != nullptr) *edges = answer.edges.data();
    if (count != nullptr) *count = answer.frontier.size();
  });
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* edges, size_t count,
                                              unsigned flags) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* of = nullptr;
    if (const CUresult status = find_stream(p, stream, of); status != CUDA_SUCCESS) return status;
    const std::lock_guard lock{p.graphs_mutex};
    model::capture::capture_info now;
    model::capture::get_status(*of, now);
    if (now.status == CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_ILLEGAL_STATE;
    if (now.into == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES &&
        flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::vector<model::graph_node*> nodes;
    if (const CUresult status = find_nodes(dependencies, count, *now.into, nodes);
        status != CUDA_SUCCESS)
      return status;
    if (!all_ordinary(edges, count)) return CUDA_ERROR_INVALID_VALUE;
    return model::capture::update_frontier(*of, nodes, flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
  });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                           unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}

// Any value is taken; only the three that are known change anything.
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return guarded([&](model::process&) -> CUresult {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::swap(model::this_thread().capture_mode, *mode);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
