// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/graph_handle.hpp - helpers for the entry points of graphs and captures.
#pragma once

#include <functional>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/graph/graph.hpp"

namespace weir::embedded::entry {

// Runs the body of an entry point with process::graphs_mutex held. A host function may call such an
// entry point.
template <class Body>
CUresult with_graphs(Body&& body) noexcept {
  return guarded([&] {
    const std::lock_guard lock{model::this_process().graphs_mutex};
    return body();
  });
}

// Like with_graphs(), for an entry point that a host function may not call.
template <class Body>
CUresult with_graphs_outside_host_functions(Body&& body) noexcept {
  return guarded_outside_host_functions([&] {
    const std::lock_guard lock{model::this_process().graphs_mutex};
    return body();
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
// Returns the parameters of a node of the kind `Params`; null for an invalid handle and for a node
// of another kind.
template <class Params>
Params* find_params(CUgraphNode handle) {
  model::graph_node* const found = find_node(handle);
  return found == nullptr ? nullptr : std::get_if<Params>(&found->params);
}
// Stores project(parameters) for the parameters of a node. Returns CUDA_ERROR_INVALID_VALUE if
// find_params() finds none, and if `out` is null.
template <class Params, class Out, class Projection>
CUresult get_params(CUgraphNode node, Out* out, Projection project) {
  return with_graphs([&] {
    Params* const params = find_params<Params>(node);
    if (params == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = std::invoke(project, *params);
    return CUDA_SUCCESS;
  });
}

// Looks up `count` nodes, which must belong to `owning_graph`. Returns CUDA_ERROR_INVALID_VALUE
// otherwise.
CUresult find_nodes(const CUgraphNode* handles, std::size_t count, const model::graph& owning_graph,
                    std::vector<model::graph_node*>& out);

// Like find_nodes(), for the dependencies of a new node, which must be distinct.
CUresult find_dependencies(const CUgraphNode* handles, std::size_t count,
                           const model::graph& owning_graph, std::vector<model::graph_node*>& out);

// Implements cuGraphAdd*Node: stores the handle of the node that make(graph, predecessors, node)
// adds to the graph. If `make` fails after it has added the node, removes the node. `dependencies`
// is not read if `count` is 0. Returns CUDA_ERROR_INVALID_VALUE for an invalid handle, for a
// dependency that is listed twice, and if `node` is null.
template <class Make>
CUresult add_node(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                  std::size_t count, Make make) {
  return with_graphs([&] {
    model::graph* const target_graph = find_graph(graph);
    if (node == nullptr || target_graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<model::graph_node*> predecessors;
    if (const CUresult error = find_dependencies(dependencies, count, *target_graph, predecessors))
      return error;
    model::graph_node* created = nullptr;
    try {
      if (const CUresult error = make(*target_graph, std::as_const(predecessors), created)) {
        if (created != nullptr) target_graph->remove(*created);
        return error;
      }
    } catch (...) {
      if (created != nullptr) target_graph->remove(*created);
      throw;
    }
    *node = created->handle();
    return CUDA_SUCCESS;
  });
}

// Checks whether a node of `target_graph` may have `child`, or a clone of it, as its child graph.
// Returns CUDA_ERROR_INVALID_VALUE if `child` is null or is `target_graph`. Returns it also for a
// move if `child` contains `target_graph` or is being captured. Returns CUDA_ERROR_NOT_SUPPORTED
// for a subgraph, for a graph with conditional nodes, and for a graph to be cloned that has memory
// nodes.
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
