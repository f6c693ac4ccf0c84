// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/capture.cpp - cuStreamBeginCapture and the other functions of stream
// capture.
#include "embedded/model/capture/capture.hpp"
#include "embedded/entry/graph/graph_handle.hpp"

#include <algorithm>
#include <utility>

namespace weir::embedded::entry {

namespace {

constexpr bool is_valid_mode(CUstreamCaptureMode mode) {
  return mode == CU_STREAM_CAPTURE_MODE_GLOBAL || mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
         mode == CU_STREAM_CAPTURE_MODE_RELAXED;
}

// If the stream captures, calls get_answer(stream, answer) with process::graphs_mutex held. Stores
// the status in the answer and returns write(answer). A query of the legacy stream invalidates no
// capture, unlike a use of it.
template <class Query, class Write>
CUresult query_capture(CUstream stream, CUstreamCaptureStatus* status, Query get_answer,
                       Write write) {
  return guarded([&] {
    if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* target_stream = nullptr;
    if (const CUresult error = find_stream_for_query(stream, target_stream)) return error;
    model::capture::capture_info answer;
    if (target_stream->capture() != nullptr) {
      const std::lock_guard lock{model::this_process().graphs_mutex};
      get_answer(*target_stream, answer);
    }
    *status = answer.status;
    return write(answer);
  });
}

}  // namespace

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
  return guarded([&] {
    // Before find_stream(), because a use of the legacy stream can invalidate captures of blocking
    // streams.
    if (!is_valid_mode(mode)) return CUDA_ERROR_INVALID_VALUE;
    model::stream* target_stream = nullptr;
    if (const CUresult error = find_stream(stream, target_stream)) return error;
    const std::lock_guard lock{model::this_process().graphs_mutex};
    return model::capture::begin(*target_stream, mode);
  });
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                     const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
                                     size_t count, CUstreamCaptureMode mode) {
  if (graph == nullptr || !is_valid_mode(mode))
    return guarded([] { return CUDA_ERROR_INVALID_VALUE; });
  return guarded(with_stream(stream, [&](model::stream& target_stream) {
    const std::lock_guard lock{model::this_process().graphs_mutex};
    model::graph* target_graph = find_graph(graph);
    if (target_graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // The errors of check_begin() take precedence over errors in the list of nodes.
    if (const CUresult error = model::capture::check_begin(target_stream)) return error;
    std::vector<model::graph_node*> predecessors;
    if (const CUresult error = find_nodes(dependencies, count, *target_graph, predecessors))
      return error;
    if (!have_no_data(edges, count)) return CUDA_ERROR_INVALID_VALUE;
    return model::capture::begin(target_stream, mode, target_graph, predecessors);
  }));
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const auto end = [&](model::stream& target_stream) {
    const std::lock_guard lock{model::this_process().graphs_mutex};
    model::graph* created = nullptr;
    const CUresult status =
        model::capture::end(target_stream, graph != nullptr ? &created : nullptr);
    if (created != nullptr) *graph = created->handle();
    return status;
  };
  return guarded([&] {
    if (graph != nullptr) *graph = nullptr;
    return with_stream(stream, end)();
  });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return query_capture(stream, status, model::capture::get_status,
                       [](const model::capture::capture_info&) { return CUDA_SUCCESS; });
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   size_t* count) {
  return cuStreamGetCaptureInfo_v3(stream, status, id, graph, dependencies, nullptr, count);
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, size_t* count) {
  // Another thread may be reading the arrays that an earlier call returned. get_info() overwrites
  // them, so it is used only if this call requests the frontier.
  const auto get_answer = dependencies != nullptr || count != nullptr ? model::capture::get_info
                                                                      : model::capture::get_status;
  return query_capture(stream, status, get_answer, [&](const model::capture::capture_info& answer) {
    if (answer.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
    if (edges != nullptr && dependencies == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (id != nullptr) *id = answer.id;
    if (graph != nullptr) *graph = answer.captured_graph->handle();
    if (dependencies != nullptr) *dependencies = answer.frontier.data();
    if (edges != nullptr) *edges = answer.edges.data();
    if (count != nullptr) *count = answer.frontier.size();
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* edges, size_t count,
                                              unsigned flags) {
  return guarded(with_stream(stream, [&](model::stream& target_stream) {
    const std::lock_guard lock{model::this_process().graphs_mutex};
    model::capture::capture_info info;
    model::capture::get_status(target_stream, info);
    if (info.status == CU_STREAM_CAPTURE_STATUS_NONE) return CUDA_ERROR_ILLEGAL_STATE;
    if (info.captured_graph == nullptr) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (flags != CU_STREAM_ADD_CAPTURE_DEPENDENCIES &&
        flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    std::vector<model::graph_node*> nodes;
    if (const CUresult error = find_nodes(dependencies, count, *info.captured_graph, nodes))
      return error;
    if (!have_no_data(edges, count)) return CUDA_ERROR_INVALID_VALUE;
    return model::capture::update_frontier(target_stream, nodes,
                                           flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES
                                               ? model::frontier_change::replace
                                               : model::frontier_change::add);
  }));
}

CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode* dependencies, size_t count,
                                           unsigned flags) {
  return cuStreamUpdateCaptureDependencies_v2(stream, dependencies, nullptr, count, flags);
}

// Accepts any value. Only the three known modes have an effect.
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return guarded([&] {
    if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::swap(model::this_thread().capture_mode, *mode);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
