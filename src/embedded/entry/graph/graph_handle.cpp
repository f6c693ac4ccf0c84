// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/graph_handle.cpp - validates lists of nodes and edges that the program
// passes.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/model/graph/conditional.hpp"

#include <algorithm>

namespace weir::embedded::entry {

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

CUresult find_dependencies(const CUgraphNode* handles, std::size_t count,
                           const model::graph& owning_graph, std::vector<model::graph_node*>& out) {
  if (const CUresult error = find_nodes(handles, count, owning_graph, out)) return error;
  std::vector<model::graph_node*> sorted{out};
  std::ranges::sort(sorted);
  const bool are_distinct = std::ranges::adjacent_find(sorted) == sorted.end();
  return are_distinct ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_child(const model::graph* child, const model::graph& target_graph,
                     CUgraphChildGraphNodeOwnership ownership) {
  if (child == nullptr || child == &target_graph) return CUDA_ERROR_INVALID_VALUE;
  if (child->is_subgraph()) return CUDA_ERROR_NOT_SUPPORTED;
  if (ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
    return child->is_noncopyable() ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
  if (child->has_capture_inside() || target_graph.is_within(*child))
    return CUDA_ERROR_INVALID_VALUE;
  return model::has_conditions(*child) ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

bool have_no_data(const CUgraphEdgeData* edges, std::size_t count) {
  return edges == nullptr || std::all_of(edges, edges + count, &model::graph::is_ordinary);
}

}  // namespace weir::embedded::entry
