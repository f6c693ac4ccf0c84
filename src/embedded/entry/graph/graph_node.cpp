// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/graph_node.cpp - cuGraphAdd*Node: adds nodes of all kinds with their
// dependencies.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/entry/graph/node_params.hpp"

#include <utility>

namespace weir::embedded::entry {

namespace {

// Sets the data of all edges to a new node. If an edge may not have its data, removes the node and
// returns an error.
CUresult set_edge_data(model::graph& target_graph, model::graph_node& created,
                       const std::vector<model::graph_node*>& predecessors,
                       const CUgraphEdgeData* edges) {
  CUresult status = CUDA_SUCCESS;
  try {
    for (std::size_t i = 0; i < predecessors.size() && status == CUDA_SUCCESS; ++i) {
      if (model::graph::allows_edge(*predecessors[i], created, edges[i])) {
        model::graph::set_edge_data(*predecessors[i], created, edges[i]);
      } else {
        status = CUDA_ERROR_INVALID_VALUE;
      }
    }
  } catch (...) {
    target_graph.remove(created);
    throw;
  }
  if (status != CUDA_SUCCESS) target_graph.remove(created);
  return status;
}

// Adds a node with the parameters that read_params(input..., params) reads. `edges` has the data of
// each edge to `dependencies`; null if all edges are ordinary.
template <class... Input>
CUresult add_with_edges(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                        size_t count, const CUgraphEdgeData* edges, const Input&... input) {
  return with_graphs([&](model::process&) {
    model::graph* target_graph = nullptr;
    std::vector<model::graph_node*> predecessors;
    if (const CUresult error = find_graph_and_dependencies(node, graph, dependencies, count,
                                                           target_graph, predecessors))
      return error;
    model::node_params params;
    if (const CUresult error = read_params(input..., params)) return error;
    model::graph_node& created = target_graph->add(std::move(params), predecessors);
    if (edges != nullptr) {
      if (const CUresult error = set_edge_data(*target_graph, created, predecessors, edges))
        return error;
    }
    *node = created.handle();
    return CUDA_SUCCESS;
  });
}

template <class... Input>
CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
             const Input&... input) {
  return add_with_edges(node, graph, dependencies, count, nullptr, input...);
}

// Adds a child graph node with a clone of a graph, or moves the graph into the node.
CUresult add_child(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                   CUgraph child, CUgraphChildGraphNodeOwnership ownership) {
  return with_graphs([&](model::process&) {
    model::graph* target_graph = nullptr;
    std::vector<model::graph_node*> predecessors;
    const CUresult status =
        find_graph_and_dependencies(node, graph, dependencies, count, target_graph, predecessors);
    if (status != CUDA_SUCCESS) return status;
    model::graph* const found = find_graph(child);
    if (const CUresult error = check_child(found, *target_graph, ownership)) return error;
    model::graph_node& created = target_graph->add(model::empty_params{}, predecessors);
    try {
      created.set_child_graph(ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE ? *found
                                                                               : found->clone());
    } catch (...) {
      target_graph->remove(created);
      throw;
    }
    *node = created.handle();
    return CUDA_SUCCESS;
  });
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
  if (params->type != CU_GRAPH_NODE_TYPE_GRAPH)
    return add_with_edges(node, graph, dependencies, count, edge_data, params);
  if (!unused_bytes_are_zero(*params)) return CUDA_ERROR_INVALID_VALUE;
  return add_child(node, graph, dependencies, count, params->graph.graph, params->graph.ownership);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return with_graphs([&](model::process&) {
    const model::graph_node* found = find_node(node);
    if (found == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = found->type();
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
