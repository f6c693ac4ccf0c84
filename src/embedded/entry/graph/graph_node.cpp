// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/graph_node.cpp - cuGraphAdd*Node: adds nodes of all kinds with their
// dependencies.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/entry/graph/node_params.hpp"

#include <utility>

namespace weir::embedded::entry {

namespace {

// Sets the data of all edges to a new node. Returns an error if an edge may not have its data; the
// caller then removes the node.
CUresult set_edge_data(model::graph_node& created,
                       const std::vector<model::graph_node*>& predecessors,
                       const CUgraphEdgeData* edges) {
  for (std::size_t i = 0; i < predecessors.size(); ++i) {
    if (!model::graph::allows_edge(*predecessors[i], created, edges[i]))
      return CUDA_ERROR_INVALID_VALUE;
    model::graph::set_edge_data(*predecessors[i], created, edges[i]);
  }
  return CUDA_SUCCESS;
}

// Adds a node with the parameters that read_params(input..., params) reads. `edges` has the data of
// each edge to `dependencies`; null if all edges are ordinary.
template <class... Input>
CUresult add_with_edges(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, const CUgraphEdgeData* edges, const Input&... input) {
  const auto make = [&](model::graph& target_graph, const auto& predecessors,
                        model::graph_node*& created) {
    model::node_params params;
    if (const CUresult error = read_params(input..., params)) return error;
    created = &target_graph.add(std::move(params), predecessors);
    return edges == nullptr ? CUDA_SUCCESS : set_edge_data(*created, predecessors, edges);
  };
  return add_node(node, graph, dependencies, count, make);
}

template <class... Input>
CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
             const Input&... input) {
  return add_with_edges(node, graph, dependencies, count, nullptr, input...);
}

// Returns an error for a kernel node without a function. As on an H200, this error precedes those
// of all other arguments.
CUresult check_function(const CUDA_KERNEL_NODE_PARAMS& params) {
  const bool has_none = params.func == nullptr && params.kern == nullptr;
  return guarded([&] { return has_none ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS; });
}

// Adds a child graph node with a clone of a graph, or moves the graph into the node.
CUresult add_child(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                   CUgraph child, CUgraphChildGraphNodeOwnership ownership) {
  // As on an H200, a graph that cannot be copied is refused before the other arguments are.
  const CUresult copyable = with_graphs([&] {
    const model::graph* const found = node != nullptr ? find_graph(child) : nullptr;
    const bool is_refused =
        found != nullptr &&
        (found->is_subgraph() ||
         (ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE && found->is_noncopyable()));
    return is_refused ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
  });
  if (copyable != CUDA_SUCCESS) return copyable;
  const auto make = [&](model::graph& target_graph, const auto& predecessors,
                        model::graph_node*& created) {
    model::graph* const found = find_graph(child);
    if (const CUresult error = check_child(found, target_graph, ownership)) return error;
    created = &target_graph.add(model::empty_params{}, predecessors);
    const bool moves = ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    created->set_child_graph(moves ? *found : found->clone());
    return CUDA_SUCCESS;
  };
  return add_node(node, graph, dependencies, count, make);
}

}  // namespace

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
  return add(node, graph, dependencies, count, model::empty_params{});
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  return add(node, graph, dependencies, count, params);
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* params,
                              CUcontext context) {
  return add(node, graph, dependencies, count, params, context);
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMCPY3D* params, CUcontext context) {
  return add(node, graph, dependencies, count, params, context);
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  if (params != nullptr) {
    if (const CUresult error = check_function(*params)) return error;
  }
  return add(node, graph, dependencies, count, params);
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return add(node, graph, dependencies, count, params);
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                   const CUgraphNode* dependencies, size_t count, CUevent event) {
  return add(node, graph, dependencies, count, model::record_params{event});
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  return add(node, graph, dependencies, count, model::wait_params{event});
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
  return add_child(node, graph, dependencies, count, child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE);
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUgraphEdgeData* const edge_data = have_no_data(edges, count) ? nullptr : edges;
  if (edge_data != nullptr && params->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return CUDA_ERROR_INVALID_VALUE;
  if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
    return add_conditional(node, graph, dependencies, count, *params);
  if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params->type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    if (!unused_bytes_are_zero(*params)) return CUDA_ERROR_INVALID_VALUE;
    return params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
               ? cuGraphAddMemAllocNode(node, graph, dependencies, count, &params->alloc)
               : cuGraphAddMemFreeNode(node, graph, dependencies, count, params->free.dptr);
  }
  if (params->type == CU_GRAPH_NODE_TYPE_KERNEL && unused_bytes_are_zero(*params)) {
    if (const CUresult error = check_function(params->kernel)) return error;
  }
  if (params->type != CU_GRAPH_NODE_TYPE_GRAPH)
    return add_with_edges(node, graph, dependencies, count, edge_data, params);
  if (!unused_bytes_are_zero(*params)) return CUDA_ERROR_INVALID_VALUE;
  return add_child(node, graph, dependencies, count, params->graph.graph, params->graph.ownership);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return with_graphs([&] {
    const model::graph_node* found = find_node(node);
    if (found == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = found->type();
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
