// entry/graph_node.cpp - cuGraphAdd*Node: nodes of all kinds, each behind nodes that it depends on.
#include "embedded/entry/graph_handle.hpp"
#include "embedded/entry/node_params.hpp"

#include <algorithm>
#include <utility>

namespace weir::embedded::entry {

namespace {

bool has_duplicates(std::vector<model::graph_node*> nodes) {
  std::ranges::sort(nodes);
  return std::ranges::adjacent_find(nodes) != nodes.end();
}

// Adds a node with what take(graph, params) gives. The list of dependencies is not looked at where it is empty.
template <class Take>
CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count, Take take) {
  return with_graphs([&](model::process&) -> CUresult {
    model::graph* into = find_graph(graph);
    if (node == nullptr || into == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<model::graph_node*> behind;
    if (const CUresult status = find_nodes(dependencies, count, *into, behind); status != CUDA_SUCCESS) return status;
    if (has_duplicates(behind)) return CUDA_ERROR_INVALID_VALUE;
    model::node_params params;
    if (const CUresult status = take(*into, params); status != CUDA_SUCCESS) return status;
    *node = into->add(std::move(params), behind).handle();
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  return add(node, graph, dependencies, count, [](const model::graph&, model::node_params&) { return CUDA_SUCCESS; });
}

CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                            const CUDA_HOST_NODE_PARAMS* params) {
  return add(node, graph, dependencies, count,
             [&](const model::graph&, model::node_params& out) { return take(params, out); });
}

CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  return add(node, graph, dependencies, count,
             [&](const model::graph&, model::node_params& out) { return take(params, context, out); });
}

CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                              const CUDA_MEMCPY3D* params, CUcontext context) {
  return add(node, graph, dependencies, count,
             [&](const model::graph&, model::node_params& out) { return take(params, context, out); });
}

CUresult cuGraphAddBatchMemOpNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                  const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return add(node, graph, dependencies, count,
             [&](const model::graph&, model::node_params& out) { return take(params, out); });
}

CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                   CUevent event) {
  return add(node, graph, dependencies, count,
             [&](const model::graph&, model::node_params& out) { return take_record(event, out); });
}

CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                 CUevent event) {
  return add(node, graph, dependencies, count,
             [&](const model::graph&, model::node_params& out) { return take_wait(event, out); });
}

CUresult cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                  CUgraph child) {
  return add(node, graph, dependencies, count, [&](model::graph& into, model::node_params& out) {
    return take_child(child, CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE, into, out);
  });
}

CUresult cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                           const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
  if (params == nullptr || !all_ordinary(edges, count)) return CUDA_ERROR_INVALID_VALUE;
  return add(node, graph, dependencies, count, [&](model::graph& into, model::node_params& out) {
    if (params->type != CU_GRAPH_NODE_TYPE_GRAPH) return take(params, out);
    if (!unused_bytes_are_zero(*params)) return CUDA_ERROR_INVALID_VALUE;
    return take_child(params->graph.graph, params->graph.ownership, into, out);
  });
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
