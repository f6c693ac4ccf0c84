// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/graph_handle.hpp - helpers for the entry points of graphs and captures.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/graph/graph.hpp"

namespace weir::embedded::entry {

// Runs the body of an entry point with process::graphs_mutex held. A host function may call such an
// entry point.
template <class Body>
CUresult with_graphs(Body&& body) noexcept {
  return guarded([&](model::process& p) {
    const std::lock_guard lock{p.graphs_mutex};
    return body(p);
  });
}

// Like with_graphs(), for an entry point that a host function may not call.
template <class Body>
CUresult with_graphs_outside_host_functions(Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) {
    const std::lock_guard lock{p.graphs_mutex};
    return body(p);
  });
}

// Returns the graph of a handle, or null for an invalid handle.
inline model::graph* find_graph(CUgraph handle) {
  return model::this_process().graphs.find(handle);
}
// Returns the node of a handle, or null for an invalid handle.
inline model::graph_node* find_node(CUgraphNode handle) {
  return model::this_process().graph_nodes.find(handle);
}
// Looks up `count` nodes, which must belong to `owning_graph`. Returns CUDA_ERROR_INVALID_VALUE
// otherwise.
CUresult find_nodes(const CUgraphNode* handles, std::size_t count, const model::graph& owning_graph,
                    std::vector<model::graph_node*>& out);

// Finds the graph and the dependencies of a new node. `dependencies` is not read if `count` is 0.
// Returns CUDA_ERROR_INVALID_VALUE for an invalid handle, for a dependency that is listed twice,
// and if `node` is null.
CUresult find_graph_and_dependencies(const CUgraphNode* node, CUgraph graph,
                                     const CUgraphNode* dependencies, std::size_t count,
                                     model::graph*& target_graph,
                                     std::vector<model::graph_node*>& predecessors);

// Checks whether a node of `target_graph` may have `child`, or a clone of it, as its child graph.
// Returns CUDA_ERROR_INVALID_VALUE if `child` is null or is `target_graph`, or if it must not be
// moved into `target_graph`. Returns CUDA_ERROR_NOT_SUPPORTED for a subgraph, for a graph with
// conditional nodes, and for a graph that cannot be cloned.
CUresult check_child(const model::graph* child, const model::graph& target_graph,
                     CUgraphChildGraphNodeOwnership ownership);

// Implements cuGraphAddNode for a conditional node. Stores the handles of the bodies in `params`.
CUresult add_conditional(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                         std::size_t count, CUgraphNodeParams& params);

// Returns true if no edge of a list has data, that is if all bytes are 0. Only an edge between two
// kernels can have data. A null list has none.
bool have_no_data(const CUgraphEdgeData* edges, std::size_t count);

// Returns the data of the edge at an index of a list. Returns all zeros if the list is null.
inline CUgraphEdgeData edge_data_at(const CUgraphEdgeData* edges, std::size_t i) {
  return edges == nullptr ? CUgraphEdgeData{} : edges[i];
}

}  // namespace weir::embedded::entry
