// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/graph_handle.cpp - validates lists of nodes and edges that the program
// passes.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/model/graph/conditional.hpp"

#include <algorithm>
#include <iterator>

namespace weir::embedded::entry {

namespace {

bool has_duplicates(std::vector<model::graph_node*> nodes) {
  std::ranges::sort(nodes);
  return std::ranges::adjacent_find(nodes) != nodes.end();
}

}  // namespace

CUresult find_nodes(const CUgraphNode* handles, std::size_t count, const model::graph& owning_graph,
                    std::vector<model::graph_node*>& out) {
  if (count != 0 && handles == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    model::graph_node* found = find_node(handles[i]);
    if (found == nullptr || found->owner != &owning_graph) return CUDA_ERROR_INVALID_VALUE;
    out.push_back(found);
  }
  return CUDA_SUCCESS;
}

CUresult find_graph_and_dependencies(const CUgraphNode* node, CUgraph graph,
                                     const CUgraphNode* dependencies, std::size_t count,
                                     model::graph*& target_graph,
                                     std::vector<model::graph_node*>& predecessors) {
  target_graph = find_graph(graph);
  if (node == nullptr || target_graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = find_nodes(dependencies, count, *target_graph, predecessors))
    return error;
  return has_duplicates(predecessors) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult check_child(const model::graph* child, const model::graph& target_graph,
                     CUgraphChildGraphNodeOwnership ownership) {
  if (child == nullptr || child == &target_graph) return CUDA_ERROR_INVALID_VALUE;
  if (child->is_subgraph()) return CUDA_ERROR_NOT_SUPPORTED;
  if (ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
    return child->is_noncopyable() ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
  if (child->has_capture_inside() || target_graph.is_within(*child))
    return CUDA_ERROR_INVALID_VALUE;
  return model::has_conditional_nodes(*child) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

bool have_no_data(const CUgraphEdgeData* edges, std::size_t count) {
  const auto has_no_data = [](const CUgraphEdgeData& edge) {
    const bool reserved = std::any_of(std::begin(edge.reserved), std::end(edge.reserved),
                                      [](unsigned char byte) { return byte != 0; });
    return edge.from_port == 0 && edge.to_port == 0 && edge.type == 0 && !reserved;
  };
  return edges == nullptr || std::all_of(edges, edges + count, has_no_data);
}

}  // namespace weir::embedded::entry
