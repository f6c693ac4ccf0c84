// entry/graph_node.cpp - cuGraphAdd*Node: nodes of all kinds, each behind nodes that it depends on.
#include "embedded/entry/graph/conditional.hpp"
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/entry/graph/node_params.hpp"

#include <utility>

namespace weir::embedded::entry {

namespace {

// Gives the edges to a node that was just added their data. Takes the node away again where they
// may not have it.
CUresult set_edge_data(model::graph& in, model::graph_node& made,
                       const std::vector<model::graph_node*>& predecessors,
                       const CUgraphEdgeData* edges) {
  CUresult status = CUDA_SUCCESS;
  try {
    for (std::size_t i = 0; i < predecessors.size() && status == CUDA_SUCCESS; ++i) {
      if (model::graph::allows_edge(*predecessors[i], made, edges[i])) {
        model::graph::set_edge_data(*predecessors[i], made, edges[i]);
      } else {
        status = CUDA_ERROR_INVALID_VALUE;
      }
    }
  } catch (...) {
    in.remove(made);
    throw;
  }
  if (status != CUDA_SUCCESS) in.remove(made);
  return status;
}

// Adds a node with what read_params(params) gives. `edges`: their data, where not all of them are
// ordinary.
template <class ReadParams>
CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
             ReadParams read_params, const CUgraphEdgeData* edges = nullptr) {
  return with_graphs([&](model::process&) -> CUresult {
    model::graph* into = nullptr;
    std::vector<model::graph_node*> predecessors;
    CUresult status =
        find_graph_and_dependencies(node, graph, dependencies, count, into, predecessors);
    if (status != CUDA_SUCCESS) return status;
    model::node_params params;
    if (status = read_params(params); status != CUDA_SUCCESS) return status;
    model::graph_node& made = into->add(std::move(params), predecessors);
    if (edges != nullptr) status = set_edge_data(*into, made, predecessors, edges);
    if (status == CUDA_SUCCESS) *node = made.handle();
    return status;
  });
}

// Adds a node with a clone of a graph, or with the graph itself, which is the node's from then on.
CUresult add_child(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                   CUgraph child, CUgraphChildGraphNodeOwnership ownership) {
  return with_graphs([&](model::process&) -> CUresult {
    model::graph* into = nullptr;
    std::vector<model::graph_node*> predecessors;
    const CUresult status =
        find_graph_and_dependencies(node, graph, dependencies, count, into, predecessors);
    if (status != CUDA_SUCCESS) return status;
    model::graph* const found = find_graph(child);
    if (const CUresult refused = check_child(found, *into, ownership); refused != CUDA_SUCCESS)
      return refused;
    model::graph_node& made = into->add(model::empty_params{}, predecessors);
    try {
      made.set_child_graph(ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE ? *found
                                                                            : found->clone());
    } catch (...) {
      into->remove(made);
      throw;
    }
    *node = made.handle();
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                             size_t count) {
  return add(node, graph, dependencies, count, [](model::node_params&) { return CUDA_SUCCESS; });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                            size_t count, const CUDA_HOST_NODE_PARAMS* params) {
  return add(node, graph, dependencies, count,
             [&](model::node_params& out) { return read_params(params, out); });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMSET_NODE_PARAMS* params,
                              CUcontext context) {
  return add(node, graph, dependencies, count,
             [&](model::node_params& out) { return read_params(params, context, out); });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                              size_t count, const CUDA_MEMCPY3D* params, CUcontext context) {
  return add(node, graph, dependencies, count,
             [&](model::node_params& out) { return read_params(params, context, out); });
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, const CUDA_KERNEL_NODE_PARAMS* params) {
  return add(node, graph, dependencies, count,
             [&](model::node_params& out) { return read_params(params, out); });
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return add(node, graph, dependencies, count,
             [&](model::node_params& out) { return read_params(params, out); });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph,
                                   const CUgraphNode* dependencies, size_t count, CUevent event) {
  return add(node, graph, dependencies, count,
             [&](model::node_params& out) { return read_record_params(event, out); });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                 size_t count, CUevent event) {
  return add(node, graph, dependencies, count,
             [&](model::node_params& out) { return read_wait_params(event, out); });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                  size_t count, CUgraph child) {
  return add_child(node, graph, dependencies, count, child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE);
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUgraphEdgeData* const unusual = all_ordinary(edges, count) ? nullptr : edges;
  if (unusual != nullptr && params->type != CU_GRAPH_NODE_TYPE_KERNEL)
    return CUDA_ERROR_INVALID_VALUE;
  if (params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
    return add_conditional(node, graph, dependencies, count, *params);
  if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params->type == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    if (!unused_bytes_are_zero(*params)) return CUDA_ERROR_INVALID_VALUE;
    return params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC
               ? cuGraphAddMemAllocNode(node, graph, dependencies, count, &params->alloc)
               : cuGraphAddMemFreeNode(node, graph, dependencies, count, params->free.dptr);
  }
  if (params->type != CU_GRAPH_NODE_TYPE_GRAPH) {
    return add(
        node, graph, dependencies, count,
        [&](model::node_params& out) { return read_params(params, out); }, unusual);
  }
  if (!unused_bytes_are_zero(*params)) return CUDA_ERROR_INVALID_VALUE;
  return add_child(node, graph, dependencies, count, params->graph.graph, params->graph.ownership);
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return with_graphs([&](model::process&) -> CUresult {
    const model::graph_node* found = find_node(node);
    if (found == nullptr || type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = found->type();
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
