// entry/graph_handle.hpp - what the entry points of graphs and captures have in common.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/graph/graph.hpp"

namespace weir::embedded::entry {

// Runs the body of an entry point with the lock of the graphs held. A host function may call it.
template <class Body>
CUresult with_graphs(Body&& body) noexcept {
  return guarded([&](model::process& p) -> CUresult {
    const std::lock_guard lock{p.graphs_mutex};
    return body(p);
  });
}

// The same for one that a host function may not call.
template <class Body>
CUresult with_graphs_outside_host_functions(Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    const std::lock_guard lock{p.graphs_mutex};
    return body(p);
  });
}

// What is behind the handles; null or CUDA_ERROR_INVALID_VALUE where there is nothing.
inline model::graph* find_graph(CUgraph handle) {
  return model::this_process().graphs.find(handle);
}
inline model::graph_node* find_node(CUgraphNode handle) {
  return model::this_process().graph_nodes.find(handle);
}
CUresult find_nodes(const CUgraphNode* handles, std::size_t count, const model::graph& in,
                    std::vector<model::graph_node*>& out);

// Finds the graph and the nodes that a new node depends on, none of them named twice. The list is
// not looked at where it is empty. CUDA_ERROR_INVALID_VALUE, too, where there is no place for the
// new node's handle.
CUresult find_graph_and_dependencies(const CUgraphNode* node, CUgraph graph,
                                     const CUgraphNode* dependencies, std::size_t count,
                                     model::graph*& into,
                                     std::vector<model::graph_node*>& predecessors);

// May a node of `into` have this graph, or a clone of it, as its child graph?
// CUDA_ERROR_INVALID_VALUE where there is no graph, too; CUDA_ERROR_NOT_SUPPORTED for one with
// conditional nodes.
CUresult check_child(const model::graph* child, const model::graph& into,
                     CUgraphChildGraphNodeOwnership ownership);

// Is every edge an ordinary one? Others are between kernels only.
bool all_ordinary(const CUgraphEdgeData* edges, std::size_t count);

// The data of an edge of a list; without a list it is ordinary.
inline CUgraphEdgeData edge_data_at(const CUgraphEdgeData* edges, std::size_t i) {
  return edges == nullptr ? CUgraphEdgeData{} : edges[i];
}

}  // namespace weir::embedded::entry
