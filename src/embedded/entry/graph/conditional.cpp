// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/conditional.cpp - cuGraphConditionalHandleCreate, and the nodes that use the
// handles.
#include "embedded/model/graph/conditional.hpp"
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/entry/graph/node_params.hpp"

namespace weir::embedded::entry {

namespace {

// Finds the condition of a new node. No other node may use it. It must have been created in the
// context params.ctx, for the outermost graph that contains target_graph or for a subgraph of it.
// The caller has checked that params.ctx exists.
CUresult find_condition(const CUDA_CONDITIONAL_NODE_PARAMS& params,
                        const model::graph& target_graph, model::condition*& out) {
  out = model::condition::find(params.handle);
  if (out == nullptr || out->used_by != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (&out->owner->root() != &target_graph.root()) return CUDA_ERROR_INVALID_VALUE;
  return model::this_process().contexts.find(params.ctx) == out->owner_context
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph graph,
                                        CUcontext context, unsigned initial, unsigned flags) {
  return with_graphs_outside_host_functions([&] {
    model::graph* const target_graph = find_graph(graph);
    if (handle == nullptr || target_graph == nullptr ||
        (flags & ~CU_GRAPH_COND_ASSIGN_DEFAULT) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    const model::context* const found = model::this_process().contexts.find(context);
    if (found == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    *handle = model::make_condition(*target_graph, *found, initial, flags).handle();
    return CUDA_SUCCESS;
  });
}

CUresult add_conditional(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                         std::size_t count, CUgraphNodeParams& params) {
  CUDA_CONDITIONAL_NODE_PARAMS& input = params.conditional;
  // As on an H200, these errors precede those of the graph, the dependencies and the handle.
  const CUresult status = guarded([&] {
    if (node == nullptr || !unused_bytes_are_zero(params) ||
        !model::may_have_bodies(input.type, input.size))
      return CUDA_ERROR_INVALID_VALUE;
    return model::this_process().contexts.find(input.ctx) != nullptr ? CUDA_SUCCESS
                                                                     : CUDA_ERROR_INVALID_CONTEXT;
  });
  if (status != CUDA_SUCCESS) return status;
  const auto make = [&](model::graph& target_graph, const auto& predecessors,
                        model::graph_node*& created) {
    model::condition* condition = nullptr;
    if (const CUresult error = find_condition(input, target_graph, condition)) return error;
    created =
        &model::add_conditional(target_graph, *condition, input.type, input.size, predecessors);
    // The program may read this array while the node exists, but must not write to it.
    const auto& handles = std::get<model::conditional_params>(created->params).handles;
    input.phGraph_out = const_cast<CUgraph*>(handles.data());
    return CUDA_SUCCESS;
  };
  return add_node(node, graph, dependencies, count, make);
}

}  // namespace weir::embedded::entry
