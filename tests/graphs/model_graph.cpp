// SPDX-License-Identifier: Apache-2.0
// graphs/model_graph.cpp - graphs built, changed, cloned and destroyed (rules 12).
#include "graphs/model.hpp"

#include <algorithm>

namespace weir::graphs {

object_id model::make_graph(object_id parent) {
  graphs.push_back({.parent = parent});
  return static_cast<object_id>(graphs.size()) - 1;
}

object_id model::add_node(object_id g, node_kind kind, const work& what, object_id event,
                          std::span<const object_id> behind) {
  const auto made = static_cast<object_id>(nodes.size());
  nodes.push_back({.graph = g,
                   .kind = kind,
                   .what = what,
                   .event = event,
                   .before = {behind.begin(), behind.end()}});
  graph(g).nodes.push_back(made);
  return made;
}

// Rules 12.10, 12.11: adds a clone, or moves the graph itself, which the node then owns.
expected_result model::add_child(object_id g, object_id child, std::span<const object_id> behind,
                                 bool move, object_id& made) {
  if (graph(child).parent >= 0) return CUDA_ERROR_NOT_SUPPORTED;
  made = add_node(g, node_kind::child, {}, -1, behind);
  node(made).inside = move ? child : clone(child, g);
  graph(node(made).inside).parent = g;
  return CUDA_SUCCESS;
}

void model::end_node(object_id n) {
  node_state& gone = node(n);
  gone.is_alive = false;
  if (gone.inside >= 0) end_graph(gone.inside);
  graph_state& in = graph(gone.graph);
  std::erase(in.nodes, n);
  for (const object_id other : in.nodes) std::erase(node(other).before, n);
}

expected_result model::destroy_node(object_id n) {
  graph_state& in = graph(node(n).graph);
  if (in.capture >= 0) return CUDA_ERROR_ILLEGAL_STATE;
  end_node(n);
  in.edited = true;
  return CUDA_SUCCESS;
}

void model::end_graph(object_id g) {
  graph(g).is_alive = false;
  for (const object_id n : graph(g).nodes) {
    node(n).is_alive = false;
    if (node(n).inside >= 0) end_graph(node(n).inside);
  }
}

expected_result model::destroy_graph(object_id g) {
  if (graph(g).parent >= 0) return CUDA_ERROR_INVALID_VALUE;
  if (graph(g).capture >= 0) return CUDA_ERROR_ILLEGAL_STATE;
  end_graph(g);
  return CUDA_SUCCESS;
}

object_id model::clone(object_id g, object_id parent) {
  const object_id copy = make_graph(parent);
  graph(copy).edited = graph(g).edited;
  const std::vector<object_id> originals = graph(g).nodes;
  for (const object_id n : originals) {
    const object_id made = add_node(copy, node(n).kind, node(n).what, node(n).event, {});
    node(made).captured = node(n).captured;
    node(made).cloned_from = n;
    if (node(n).inside >= 0) {
      const object_id inside = clone(node(n).inside, copy);
      node(made).inside = inside;
    }
  }
  for (const object_id n : graph(copy).nodes) {
    for (const object_id before : node(node(n).cloned_from).before)
      node(n).before.push_back(counterpart(before, copy));
  }
  return copy;
}

object_id model::counterpart(object_id n, object_id g) const {
  for (const object_id mine : graphs[static_cast<std::size_t>(g)].nodes) {
    if (nodes[static_cast<std::size_t>(mine)].cloned_from == n) return mine;
  }
  return -1;
}

// Rule 12.4: foreign nodes and self edges are detected first; an existing edge when its turn comes.
expected_result model::add_edges(object_id g, std::span<const object_id> from,
                                 std::span<const object_id> to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (node(from[i]).graph != g || node(to[i]).graph != g || from[i] == to[i])
      return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::vector<object_id>& before = node(to[i]).before;
    if (std::ranges::find(before, from[i]) != before.end()) return CUDA_ERROR_INVALID_VALUE;
    before.push_back(from[i]);
  }
  return CUDA_SUCCESS;
}

expected_result model::remove_edges(object_id g, std::span<const object_id> from,
                                    std::span<const object_id> to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (node(from[i]).graph != g || node(to[i]).graph != g || from[i] == to[i])
      return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::erase(node(to[i]).before, from[i]) == 0) return CUDA_ERROR_INVALID_VALUE;
    graph(g).edited = true;
  }
  return CUDA_SUCCESS;
}

std::vector<object_id> model::after(object_id n) const {
  std::vector<object_id> found;
  for (const object_id other :
       graphs[static_cast<std::size_t>(nodes[static_cast<std::size_t>(n)].graph)].nodes) {
    const std::vector<object_id>& before = nodes[static_cast<std::size_t>(other)].before;
    if (std::ranges::find(before, n) != before.end()) found.push_back(other);
  }
  return found;
}

object_id model::root_of(object_id g) const {
  while (graphs[static_cast<std::size_t>(g)].parent >= 0)
    g = graphs[static_cast<std::size_t>(g)].parent;
  return g;
}

namespace {

bool names(const shape& s, object_id event) {
  return std::ranges::any_of(s.entries, [&](const shape::entry& e) {
    return e.event == event || (e.inside != nullptr && names(*e.inside, event));
  });
}

}  // namespace

bool model::is_referenced(object_id event) const {
  return std::ranges::any_of(nodes,
                             [&](const node_state& n) { return n.is_alive && n.event == event; }) ||
         std::ranges::any_of(
             execs, [&](const exec_state& x) { return x.is_alive && names(*x.what, event); });
}

}  // namespace weir::graphs
