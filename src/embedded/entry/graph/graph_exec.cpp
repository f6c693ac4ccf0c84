// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/graph_exec.cpp - cuGraphInstantiate*, cuGraphLaunch: instantiation and
// launch of graphs.
#include "embedded/model/graph/graph_exec.hpp"
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/model/capture/capture.hpp"

#include <algorithm>
#include <mutex>

namespace weir::embedded::entry {

namespace {

using instantiate_error = model::graph_exec::instantiate_error;

constexpr unsigned long long accepted_flags = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                              CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                              CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
constexpr unsigned long long reported_flags =
    CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;

bool runs_from_device(const model::graph_node* node) {
  return model::is_any_of<model::memset_params, model::copy_params, model::child_params,
                          model::kernel_params>(node->params);
}

// Checks the flag for launches by kernels, if it is set. Sets `reason` to success, or to a node
// that kernels cannot launch.
CUresult check_flags(const model::graph& source_graph, unsigned long long flags,
                     instantiate_error& reason) {
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) != 0) {
    if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    const auto offender = std::ranges::find_if_not(source_graph.nodes(), runs_from_device);
    if (offender != source_graph.nodes().end()) {
      reason = {CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED, *offender};
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (source_graph.nodes().empty()) return CUDA_ERROR_INVALID_VALUE;
  }
  reason = {};
  return CUDA_SUCCESS;
}

// Checks that the current context and the captures of the process allow an instantiation.
CUresult check_instantiation() {
  model::context* context = nullptr;
  const CUresult status = current_context(context);
  return status == CUDA_SUCCESS ? model::check_unsafe_call() : status;
}

// Like check_instantiation(), for an instantiation that uploads the graph in a stream. The stream
// stands for the context, and captures of other streams allow the call.
CUresult check_upload(CUstream stream) {
  model::stream* upload_stream = nullptr;
  const CUresult status = find_stream(stream, upload_stream);
  return status == CUDA_SUCCESS ? model::check_not_capturing(*upload_stream) : status;
}

// Instantiates a graph and reports the outcome in `reason`. `check` is called once the flags are
// known to be valid. reason.result is CUDA_GRAPH_INSTANTIATE_ERROR for errors that precede the
// check of the graph's nodes, and for CUDA_ERROR_NOT_SUPPORTED and CUDA_ERROR_OUT_OF_MEMORY, which
// no node causes.
template <class Check>
CUresult instantiate(CUgraphExec* exec, CUgraph graph, unsigned long long flags,
                     unsigned long long valid_flags, instantiate_error& reason, Check check) {
  reason.result = CUDA_GRAPH_INSTANTIATE_ERROR;
  const CUresult allowed = guarded_outside_host_functions(
      [&] { return (flags & ~valid_flags) != 0 ? CUDA_ERROR_INVALID_VALUE : check(); });
  if (allowed != CUDA_SUCCESS) return allowed;
  const CUresult status = with_graphs_outside_host_functions([&] {
    if (exec == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::graph* source_graph = find_graph(graph);
    if (source_graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (source_graph->is_subgraph()) return CUDA_ERROR_NOT_SUPPORTED;
    if (const CUresult error = check_flags(*source_graph, flags, reason)) return error;
    return open_object(model::this_process().graph_execs, exec, [&](model::graph_exec& created) {
      return created.instantiate(*source_graph, flags, reason);
    });
  });
  if (status == CUDA_ERROR_NOT_SUPPORTED || status == CUDA_ERROR_OUT_OF_MEMORY)
    reason.result = CUDA_GRAPH_INSTANTIATE_ERROR;
  return status;
}

// Looks up an executable graph for a launch. If the stream captures, returns an error and
// invalidates the capture.
CUresult find_launch(CUgraphExec exec, model::stream& target_stream,
                     model::graph_exec*& target_exec) {
  if (const CUresult error = model::check_not_capturing(target_stream)) return error;
  target_exec = model::this_process().graph_execs.find(exec);
  return target_exec == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags) {
  instantiate_error unused;
  return instantiate(exec, graph, flags, accepted_flags, unused, check_instantiation);
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  constexpr unsigned long long upload = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD;
  const auto check = [&] {
    return (params->flags & upload) != 0 ? check_upload(params->hUploadStream)
                                         : check_instantiation();
  };
  instantiate_error reason;
  const CUresult status =
      instantiate(exec, graph, params->flags, accepted_flags | upload, reason, check);
  params->result_out = reason.result;
  params->hErrNode_out = reason.error_node == nullptr ? nullptr : reason.error_node->handle();
  return status;
}

CUresult cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  return guarded([&] {
    const model::graph_exec* found = model::this_process().graph_execs.find(exec);
    if (found == nullptr || flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = found->flags() & reported_flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return guarded_outside_captures([&] {
    auto& table = model::this_process().graph_execs;
    model::graph_exec* found = table.find(exec);
    if (found == nullptr || !table.retire(found, exec)) return CUDA_ERROR_INVALID_VALUE;
    found->close();
    table.recycle(found);
    return CUDA_SUCCESS;
  });
}

// Only checks its arguments: an executable graph needs no upload.
CUresult cuGraphUpload(CUgraphExec exec, CUstream stream) {
  return guarded(with_stream(stream, [&](model::stream& target_stream) {
    model::graph_exec* target_exec = nullptr;
    return find_launch(exec, target_stream, target_exec);
  }));
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  return guarded(with_stream(stream, [&](model::stream& target_stream) {
    model::graph_exec* target_exec = nullptr;
    const CUresult status = find_launch(exec, target_stream, target_exec);
    return status == CUDA_SUCCESS ? target_exec->launch(target_stream) : status;
  }));
}

}  // namespace weir::embedded::entry
