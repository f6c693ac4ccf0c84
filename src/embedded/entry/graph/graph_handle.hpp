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

// Runs the body of an entry point with the graph mutex held. A host function may call it.
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

// Look up handles. An unknown handle gives null or CUDA_ERROR_INVALID_VALUE.
inline model::graph* find_graph(CUgraph handle) {
  return model::this_process().graphs.find(handle);
}
inline model::graph_node* find_node(CUgraphNode handle) {
  return model::this_process().graph_nodes.find(handle);
}
CUresult find_nodes(const CUgraphNode* handles, std::size_t count, const model::graph& owning_graph,
                    std::vector<model::graph_node*>& out);

// Finds the graph and the dependencies of a new node; no dependency may be listed twice. The list
// is not read if `count` is 0. Returns CUDA_ERROR_INVALID_VALUE also if `node` is null.
CUresult find_graph_and_dependencies(const CUgraphNode* node, CUgraph graph,
                                     const CUgraphNode* dependencies, std::size_t count,
                                     model::graph*& target_graph,
                                     std::vector<model::graph_node*>& predecessors);

// Checks whether a node of `target_graph` may have `child`, or a clone of it, as its child graph.
// Returns CUDA_ERROR_INVALID_VALUE also for a null graph, and CUDA_ERROR_NOT_SUPPORTED for a graph
// with conditional nodes.
CUresult check_child(const model::graph* child, const model::graph& target_graph,
                     CUgraphChildGraphNodeOwnership ownership);

// Implements cuGraphAddNode for a conditional node. Stores the handles of the bodies in `params`.
CUresult add_conditional(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                         std::size_t count, CUgraphNodeParams& params);

// Returns true if no edge has data. Only edges between kernels can have data.
bool have_no_data(const CUgraphEdgeData* edges, std::size_t count);

// Returns the data of the edge at an index of the list; default data without a list.
inline CUgraphEdgeData edge_data_at(const CUgraphEdgeData* edges, std::size_t i) {
  return edges == nullptr ? CUgraphEdgeData{} : edges[i];
}

}  // namespace weir::embedded::entry
