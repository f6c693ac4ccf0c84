// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/exec_update.cpp - cuGraphExec*SetParams, cuGraphExecUpdate: change
// executable graphs in place.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/entry/graph/node_params.hpp"
#include "embedded/model/graph/graph_exec.hpp"

#include <utility>

namespace weir::embedded::entry {

namespace {

// Calls body(executable) for a call about a node of it. `node` is the node of the instantiated
// graph, which must still exist.
template <class Body>
CUresult with_exec_node(CUgraphExec exec, CUgraphNode node, Body body) {
  return with_graphs([&] {
    model::graph_exec* const found = model::this_process().graph_execs.find(exec);
    if (found == nullptr || find_node(node) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return body(*found);
  });
}

// Changes a node of an executable to the parameters that read_params(input..., params) reads.
template <class... Input>
CUresult set_exec_node(CUgraphExec exec, CUgraphNode node, const Input&... input) {
  return with_exec_node(exec, node, [&](model::graph_exec& target_exec) {
    model::node_params params;
    if (const CUresult error = read_params(input..., params)) return error;
    return target_exec.set_node(node, std::move(params));
  });
}

}  // namespace

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* params) {
  return set_exec_node(exec, node, params);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  return set_exec_node(exec, node, params, context);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* params, CUcontext context) {
  return set_exec_node(exec, node, params, context);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  return set_exec_node(exec, node, params);
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return set_exec_node(exec, node, params);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_exec_node(exec, node, model::record_params{event});
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_exec_node(exec, node, model::wait_params{event});
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  // Nodes that allocate or free memory cannot be copied into an executable. As on an H200, this
  // error precedes those of the other arguments.
  const CUresult copyable = with_graphs([&] {
    const model::graph* const child_graph = find_graph(child);
    return child_graph != nullptr && child_graph->has_memory_nodes()
               ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE
               : CUDA_SUCCESS;
  });
  if (copyable != CUDA_SUCCESS) return copyable;
  return with_exec_node(exec, node, [&](model::graph_exec& target_exec) {
    const model::graph* const child_graph = find_graph(child);
    return child_graph == nullptr ? CUDA_ERROR_INVALID_VALUE
                                  : target_exec.set_child(node, *child_graph);
  });
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  if (params != nullptr && params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return cuGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
  }
  return set_exec_node(exec, node, params);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  return with_exec_node(exec, node, [&](model::graph_exec& target_exec) {
    return target_exec.set_enabled(node, enabled != 0);
  });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
  return with_exec_node(exec, node, [&](model::graph_exec& target_exec) {
    bool is_enabled = false;
    if (enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = target_exec.get_enabled(node, is_enabled)) return error;
    *enabled = is_enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                              CUgraphExecUpdateResultInfo* result) {
  return with_graphs_outside_host_functions([&] {
    if (result != nullptr) *result = {};  // also for a call that fails
    model::graph_exec* found = model::this_process().graph_execs.find(exec);
    const model::graph* target_graph = find_graph(graph);
    if (found == nullptr || target_graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::exec_topology::difference reason;
    const CUresult status = found->update(*target_graph, reason);
    if (result != nullptr) *result = {reason.result, reason.error_node, nullptr};
    return status;
  });
}

}  // namespace weir::embedded::entry
