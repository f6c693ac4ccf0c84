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
template <class Entries, class Put>
CUresult fill(const Entries& entries, const CUgraphNode* list, size_t* count, Put put) {
  const std::size_t existing_count = entries.size();
  if (list == nullptr) {
    *count = existing_count;
    return CUDA_SUCCESS;
  }
  if (*count == 0 && existing_count != 0) return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < *count; ++i) {
    if (i < existing_count) {
      put(i, entries[i]);
    } else {
      put(i, typename Entries::value_type{});
    }
  }
  *count = std::min(*count, existing_count);
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

// Like fill(), for edges. Returns CUDA_ERROR_LOSSY_QUERY if an edge has data but the caller did not
// request edge data.
template <class Put>
CUresult fill_edges(const std::vector<edge>& entries, const CUgraphNode* list,
                    CUgraphEdgeData* data, size_t* count, Put put) {
  const auto edge_data_of = [](const edge& e) {
    return e.to == nullptr ? CUgraphEdgeData{} : model::graph::edge_data_of(*e.from, *e.to);
  };
  const auto is_programmatic = [&](const edge& e) {
    return !e.to->programmatic_edges.empty() && edge_data_of(e).type != 0;
  };
  if (list != nullptr && data == nullptr && std::ranges::any_of(entries, is_programmatic))
    return CUDA_ERROR_LOSSY_QUERY;
  return fill(entries, list, count, [&](std::size_t i, const edge& e) {
    put(i, e);
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
  return with_graphs_outside_host_functions([&](model::process&) {
    if (graph == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *graph = model::graph::make().handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return with_graphs_outside_host_functions([&](model::process&) {
    model::graph* found = find_graph(graph);
    if (found == nullptr || found->is_subgraph()) return CUDA_ERROR_INVALID_VALUE;
    if (found->has_capture_inside()) return CUDA_ERROR_ILLEGAL_STATE;
    found->destroy();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphClone(CUgraph* clone, CUgraph original) {
  return with_graphs_outside_host_functions([&](model::process&) {
    const model::graph* found = find_graph(original);
    if (found == nullptr || clone == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (found->is_noncopyable()) return CUDA_ERROR_NOT_SUPPORTED;
    *clone = found->clone().handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeFindInClone(CUgraphNode* clone, CUgraphNode original, CUgraph graph) {
  return with_graphs_outside_host_functions([&](model::process&) {
    model::graph* target_graph = find_graph(graph);
    if (clone == nullptr || target_graph == nullptr || find_node(original) == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    const model::graph_node* found = target_graph->counterpart(original);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *clone = found->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return with_graphs_outside_host_functions([&](model::process&) {
    const model::graph* found = find_graph(graph);
    if (found == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return fill_nodes(found->nodes(), nodes, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return with_graphs_outside_host_functions([&](model::process&) {
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
  return with_graphs_outside_host_functions([&](model::process&) {
    const model::graph* found = find_graph(graph);
    if (found == nullptr || count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if ((from == nullptr) != (to == nullptr) || (edges != nullptr && from == nullptr))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<edge> found_edges;
    found_edges.reserve(found->edge_count());
    for (model::graph_node* node : found->nodes()) {
      for (model::graph_node* after : node->dependents) found_edges.push_back({node, after});
    }
    return fill_edges(found_edges, from, edges, count, [&](std::size_t i, const edge& e) {
      from[i] = handle_of(e.from);
      to[i] = handle_of(e.to);
    });
  });
}

CUresult cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                   const CUgraphEdgeData* edges, size_t count) {
  return with_graphs_outside_host_functions([&](model::process&) {
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
  return with_graphs_outside_host_functions([&](model::process&) {
    model::graph* target_graph = find_graph(graph);
    if (target_graph == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (target_graph->capturing() && count != 0) return CUDA_ERROR_ILLEGAL_STATE;
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
  return with_graphs_outside_host_functions([&](model::process&) {
    model::graph_node* const found = find_node(node);
    if (found == nullptr || count == nullptr || (edges != nullptr && dependencies == nullptr))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<edge> found_edges;
    for (model::graph_node* before : found->dependencies) found_edges.push_back({before, found});
    return fill_edges(found_edges, dependencies, edges, count,
                      [&](std::size_t i, const edge& e) { dependencies[i] = handle_of(e.from); });
  });
}

CUresult cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* nodes,
                                         CUgraphEdgeData* edges, size_t* count) {
  return with_graphs_outside_host_functions([&](model::process&) {
    model::graph_node* const found = find_node(node);
    if (found == nullptr || count == nullptr || (edges != nullptr && nodes == nullptr))
      return CUDA_ERROR_INVALID_VALUE;
    std::vector<edge> found_edges;
    for (model::graph_node* after : found->dependents) found_edges.push_back({found, after});
    return fill_edges(found_edges, nodes, edges, count,
                      [&](std::size_t i, const edge& e) { nodes[i] = handle_of(e.to); });
  });
}

CUresult cuGraphDestroyNode(CUgraphNode node) {
  return with_graphs_outside_host_functions([&](model::process&) {
    model::graph_node* found = find_node(node);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
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
  return with_graphs_outside_host_functions([&](model::process&) {
    const model::graph* found = find_graph(graph);
    if (found == nullptr || path == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::ofstream file{path};
    file << model::dot(*found, flags);
    file.close();
    return file ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
  });
}

}  // namespace weir::embedded::entry
