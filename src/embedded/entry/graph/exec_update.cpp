// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/exec_update.cpp - cuGraphExec*SetParams, cuGraphExecUpdate: change
// executable graphs in place.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/entry/graph/node_params.hpp"
#include "embedded/model/graph/graph_exec.hpp"

namespace weir::embedded::entry {

namespace {

// Changes a node of an executable to the parameters that read_params(input..., params) reads.
// `node` is the node of the instantiated graph, which must still exist.
template <class... Input>
CUresult set(CUgraphExec exec, CUgraphNode node, const Input&... input) {
  return with_graphs([&](model::process& p) {
    model::graph_exec* found = p.graph_execs.find(exec);
    if (found == nullptr || find_node(node) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::node_params params;
    if (const CUresult error = read_params(input..., params)) return error;
    return found->set_node(node, params);
  });
}

}  // namespace

CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                      const CUDA_HOST_NODE_PARAMS* params) {
  return set(exec, node, params);
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  return set(exec, node, params, context);
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                        const CUDA_MEMCPY3D* params, CUcontext context) {
  return set(exec, node, params, context);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                           const CUDA_KERNEL_NODE_PARAMS* params) {
  return set(exec, node, params);
}

CUresult cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                            const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return set(exec, node, params);
}

CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set(exec, node, model::record_params{event});
}

CUresult cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set(exec, node, model::wait_params{event});
}

CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return with_graphs([&](model::process& p) {
    model::graph_exec* found = p.graph_execs.find(exec);
    const model::graph* child_graph = find_graph(child);
    return found == nullptr || child_graph == nullptr || find_node(node) == nullptr
               ? CUDA_ERROR_INVALID_VALUE
               : found->set_child(node, *child_graph);
  });
}

CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  if (params != nullptr && params->type == CU_GRAPH_NODE_TYPE_GRAPH) {
    return cuGraphExecChildGraphNodeSetParams(exec, node, params->graph.graph);
  }
  return set(exec, node, params);
}

CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  return with_graphs([&](model::process& p) {
    model::graph_exec* found = p.graph_execs.find(exec);
    return found == nullptr || find_node(node) == nullptr ? CUDA_ERROR_INVALID_VALUE
                                                          : found->set_enabled(node, enabled != 0);
  });
}

CUresult cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode node, unsigned* enabled) {
  return with_graphs([&](model::process& p) {
    model::graph_exec* found = p.graph_execs.find(exec);
    if (found == nullptr || enabled == nullptr || find_node(node) == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    bool is_enabled = false;
    if (const CUresult error = found->get_enabled(node, is_enabled)) return error;
    *enabled = is_enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph,
                              CUgraphExecUpdateResultInfo* result) {
  return with_graphs_outside_host_functions([&](model::process& p) {
    model::graph_exec* found = p.graph_execs.find(exec);
    const model::graph* target_graph = find_graph(graph);
    if (found == nullptr || target_graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::exec_topology::difference reason;
    const CUresult status = found->update(*target_graph, reason);
    if (result != nullptr) *result = {reason.result, reason.error_node, nullptr};
    return status;
  });
}

}  // namespace weir::embedded::entry
