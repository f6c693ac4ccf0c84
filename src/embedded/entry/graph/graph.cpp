// SPDX-License-Identifier: Apache-2.0
// embedded/entry/graph/graph.cpp - cuGraph*: graphs, their nodes and edges.
#include "embedded/entry/graph/graph_handle.hpp"
#include "embedded/model/graph/dot_writer.hpp"

#include <algorithm>
#include <fstream>

namespace weir::embedded::entry {

namespace {

struct edge {
  model::graph_node* from = nullptr;
  model::graph_node* to = nullptr;
};

// Fills the caller's lists with up to `*count` entries by put(index, entry), and sets the rest of
// the lists to null. If `list` is null, only stores the number of entries in `*count`. A `*count`
// of 0 is an error if there are entries.
template <class Entry, class Put>
CUresult fill(const std::vector<Entry>& entries, const CUgraphNode* list, size_t* count, Put put) {
  if (list == nullptr) {
    *count = entries.size();
    return CUDA_SUCCESS;
  }
  if (*count == 0 && !entries.empty()) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < *count; ++i) put(i, i < entries.size() ? entries[i] : Entry{});
  *count = std::min(*count, entries.size());
  return CUDA_SUCCESS;
}

CUgraphNode handle_of(const model::graph_node* node) {
  return node == nullptr ? nullptr : node->handle();
}

CUresult fill_nodes(const std::vector<model::graph_node*>& entries, CUgraphNode* nodes,
                    size_t* count) {
  return fill(entries, nodes, count,
              [&](std::size_t i, const model::graph_node* node) { nodes[i] = handle_of(node); });
}

// Like fill(), for lists of the sources, targets and data of edges. A null list is not filled.
// Returns CUDA_ERROR_LOSSY_QUERY if an edge has data and the caller requested nodes without data.
CUresult fill_edges(const std::vector<edge>& entries, CUgraphNode* from, CUgraphNode* to,
                    CUgraphEdgeData* data, size_t* count) {
  const auto edge_data_of = [](const edge& e) {
    return e.to == nullptr ? CUgraphEdgeData{} : model::graph::edge_data_of(*e.from, *e.to);
  };
  const auto is_programmatic = [&](const edge& e) {
    return !e.to->programmatic_edges.empty() && edge_data_of(e).type != 0;
  };
  const CUgraphNode* const list = from != nullptr ? from : to;
  if (list != nullptr && data == nullptr && std::ranges::any_of(entries, is_programmatic))
    return CUDA_ERROR_LOSSY_QUERY;
  return fill(entries, list, count, [&](std::size_t i, const edge& e) {
    if (from != nullptr) from[i] = handle_of(e.from);
    if (to != nullptr) to[i] = handle_of(e.to);
    if (data != nullptr) data[i] = edge_data_of(e);
  });
}

// Finds the two nodes of each edge, which must differ and belong to the graph. Does not check
// whether the edges exist.
CUresult find_edges(const CUgraphNode* from, const CUgraphNode* to, size_t count,
                    const model::graph& owning_graph, std::vector<edge>& out) {
  std::vector<model::graph_node*> sources;
  std::vector<model::graph_node*> targets;
  if (const CUresult error = find_nodes(from, count, owning_graph, sources)) return error;
  if (const CUresult error = find_nodes(to, count, owning_graph, targets)) return error;
  out.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (sources[i] == targets[i]) return CUDA_ERROR_INVALID_VALUE;
    out.push_back({sources[i], targets[i]});
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuGraphCreate(CUgraph* graph, unsigned flags) {
  return with_graphs_outside_host_functions([&] {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = model::graph::make().handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return with_graphs_outside_host_functions([&] {
    model::graph* found = find_graph(graph);
    if (found == nullptr || found->is_subgraph()) return CUDA_ERROR_INVALID_VALUE;
    if (found->has_capture_inside()) return CUDA_ERROR_ILLEGAL_STATE;
    found->destroy();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return with_graphs_outside_host_functions([&] {
    const model::graph* found = find_graph(original);
    if (found == nullptr || clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (found->is_noncopyable()) return CUDA_ERROR_NOT_SUPPORTED;
    *clone = found->clone().handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* clone, CUgraphNode original, CUgraph graph) {
  return with_graphs_outside_host_functions([&] {
    model::graph* const target_graph = find_graph(graph);
    const model::graph_node* const node = find_node(original);
    if (clone == nullptr || target_graph == nullptr || node == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    const model::graph_node* found = target_graph->counterpart(*node);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *clone = found->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return with_graphs_outside_host_functions([&] {
    const model::graph* found = find_graph(graph);
    if (found == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return fill_nodes(found->nodes(), nodes, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return with_graphs_outside_host_functions([&] {
    const model::graph* found = find_graph(graph);
    if (found == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<model::graph_node*> roots;
    for (model::graph_node* node : found->nodes()) {
      if (node->dependencies.empty()) roots.push_back(node);
    }
    return fill_nodes(roots, nodes, count);
  });
}

CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to,
                            CUgraphEdgeData* edges, size_t* count) {
  return with_graphs_outside_host_functions([&] {
    const model::graph* found = find_graph(graph);
    if (found == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if ((from == nullptr) != (to == nullptr) || (edges != nullptr && from == nullptr))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<edge> found_edges;
    for (model::graph_node* node : found->nodes()) {
      for (model::graph_node* after : node->dependents) found_edges.push_back({node, after});
    }
    return fill_edges(found_edges, from, to, edges, count);
  });
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edges, size_t count) {
  return with_graphs_outside_host_functions([&] {
    const model::graph* target_graph = find_graph(graph);
    if (target_graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<edge> requested;
    if (const CUresult error = find_edges(from, to, count, *target_graph, requested)) return error;
    for (std::size_t i = 0; i < count; ++i) {
      if (!model::graph::allows_edge(*requested[i].from, *requested[i].to, edge_data_at(edges, i)))
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const edge& e = requested[i];
      // As on a GPU, edges that this call has added before the error stay.
      if (model::graph::connected(*e.from, *e.to)) return CUDA_ERROR_INVALID_VALUE;
      model::graph::connect(*e.from, *e.to, edge_data_at(edges, i));
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                      const CUgraphEdgeData*, size_t count) {
  return with_graphs_outside_host_functions([&] {
    model::graph* target_graph = find_graph(graph);
    if (target_graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::vector<edge> unwanted;
    if (const CUresult error = find_edges(from, to, count, *target_graph, unwanted)) return error;
    if (target_graph->has_memory_nodes() && count != 0) return CUDA_ERROR_NOT_SUPPORTED;
    for (const edge& e : unwanted) {
      if (!model::graph::connected(*e.from, *e.to))
        return CUDA_ERROR_INVALID_VALUE;  // edges before this one stay removed
      model::graph::disconnect(*e.from, *e.to);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* dependencies,
                                       CUgraphEdgeData* edges, size_t* count) {
  return with_graphs_outside_host_functions([&] {
    model::graph_node* const found = find_node(node);
    if (found == nullptr || count == nullptr || (edges != nullptr && dependencies == nullptr))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<edge> found_edges;
    for (model::graph_node* before : found->dependencies) found_edges.push_back({before, found});
    return fill_edges(found_edges, dependencies, nullptr, edges, count);
  });
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes,
                                         CUgraphEdgeData* edges, size_t* count) {
  return with_graphs_outside_host_functions([&] {
    model::graph_node* const found = find_node(node);
    if (found == nullptr || count == nullptr || (edges != nullptr && nodes == nullptr))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<edge> found_edges;
    for (model::graph_node* after : found->dependents) found_edges.push_back({found, after});
    return fill_edges(found_edges, nullptr, nodes, edges, count);
  });
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
  return with_graphs_outside_host_functions([&] {
    model::graph_node* found = find_node(node);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // The node that owned the graph was destroyed, and only a capture still keeps the graph.
    if (found->owner->orphaned_root() != nullptr) return CUDA_ERROR_INVALID_VALUE;
    // A capture into the node's child graph prevents the removal. A capture into the body graph of
    // a conditional node does not.
    const bool has_bodies = found->type() == CU_GRAPH_NODE_TYPE_CONDITIONAL;
    if (found->owner->capturing() ||
        (!has_bodies &&
         std::ranges::any_of(found->subgraphs(), &model::graph::has_capture_inside))) {
      return CUDA_ERROR_ILLEGAL_STATE;
    }
    if (found->owner->has_memory_nodes()) return CUDA_ERROR_NOT_SUPPORTED;
    found->owner->remove(*found);
    return CUDA_SUCCESS;
  });
}

// Unknown flags are ignored.
CUresult cuGraphDebugDotPrint(CUgraph graph, const char* path, unsigned flags) {
  return with_graphs_outside_host_functions([&] {
    const model::graph* found = find_graph(graph);
    if (found == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::ofstream file{path};
    file << model::dot(*found, flags);
    file.close();
    return file ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}

}  // namespace weir::embedded::entry
