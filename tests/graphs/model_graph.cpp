// graphs/model_graph.cpp - graphs built, changed, copied and ended (rules 12).
#include "graphs/model.hpp"

#include <algorithm>

namespace weir::graphs {

number model::make_graph(number parent) {
  graphs.push_back({.parent = parent});
  return static_cast<number>(graphs.size()) - 1;
}

number model::add_node(number g, node_kind kind, const work& what, number event, std::span<const number> behind) {
  const auto made = static_cast<number>(nodes.size());
  nodes.push_back({.graph = g, .kind = kind, .what = what, .event = event, .before = {behind.begin(), behind.end()}});
  graph(g).nodes.push_back(made);
  return made;
}

// A clone, or the graph itself, which is the node's from then on (12.10, 12.11).
answer model::add_child(number g, number child, std::span<const number> behind, bool move, number& made) {
  if (graph(child).parent >= 0) return CUDA_ERROR_NOT_SUPPORTED;
  made = add_node(g, node_kind::child, {}, -1, behind);
  node(made).inside = move ? child : clone(child, g);
  graph(node(made).inside).parent = g;
  return CUDA_SUCCESS;
}

void model::end_node(number n) {
  node_state& gone = node(n);
  gone.live = false;
  if (gone.inside >= 0) end_graph(gone.inside);
  graph_state& in = graph(gone.graph);
  std::erase(in.nodes, n);
  for (const number other : in.nodes) std::erase(node(other).before, n);
}

answer model::destroy_node(number n) {
  graph_state& in = graph(node(n).graph);
  if (in.capture >= 0) return CUDA_ERROR_ILLEGAL_STATE;
  end_node(n);
  in.edited = true;
  return CUDA_SUCCESS;
}

void model::end_graph(number g) {
  graph(g).live = false;
  for (const number n : graph(g).nodes) {
    node(n).live = false;
    if (node(n).inside >= 0) end_graph(node(n).inside);
  }
}

answer model::destroy_graph(number g) {
  if (graph(g).parent >= 0) return CUDA_ERROR_INVALID_VALUE;
  if (graph(g).capture >= 0) return CUDA_ERROR_ILLEGAL_STATE;
  end_graph(g);
  return CUDA_SUCCESS;
}

number model::clone(number g, number parent) {
  const number copy = make_graph(parent);
  graph(copy).edited = graph(g).edited;
  const std::vector<number> originals = graph(g).nodes;
  for (const number n : originals) {
    const number made = add_node(copy, node(n).kind, node(n).what, node(n).event, {});
    node(made).captured = node(n).captured;
    node(made).cloned_from = n;
    if (node(n).inside >= 0) {
      const number inside = clone(node(n).inside, copy);
      node(made).inside = inside;
    }
  }
  for (const number n : graph(copy).nodes) {
    for (const number before : node(node(n).cloned_from).before) node(n).before.push_back(counterpart(before, copy));
  }
  return copy;
}

number model::counterpart(number n, number g) const {
  for (const number mine : graphs[static_cast<std::size_t>(g)].nodes) {
    if (nodes[static_cast<std::size_t>(mine)].cloned_from == n) return mine;
  }
  return -1;
}

// Foreign nodes and edges to oneself are found first; an edge that is there, when its turn comes (12.4).
answer model::add_edges(number g, std::span<const number> from, std::span<const number> to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (node(from[i]).graph != g || node(to[i]).graph != g || from[i] == to[i]) return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::vector<number>& before = node(to[i]).before;
    if (std::ranges::find(before, from[i]) != before.end()) return CUDA_ERROR_INVALID_VALUE;
    before.push_back(from[i]);
  }
  return CUDA_SUCCESS;
}

answer model::remove_edges(number g, std::span<const number> from, std::span<const number> to) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (node(from[i]).graph != g || node(to[i]).graph != g || from[i] == to[i]) return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (std::erase(node(to[i]).before, from[i]) == 0) return CUDA_ERROR_INVALID_VALUE;
    graph(g).edited = true;
  }
  return CUDA_SUCCESS;
}

std::vector<number> model::after(number n) const {
  std::vector<number> found;
  for (const number other : graphs[static_cast<std::size_t>(nodes[static_cast<std::size_t>(n)].graph)].nodes) {
    const std::vector<number>& before = nodes[static_cast<std::size_t>(other)].before;
    if (std::ranges::find(before, n) != before.end()) found.push_back(other);
  }
  return found;
}

number model::root_of(number g) const {
  while (graphs[static_cast<std::size_t>(g)].parent >= 0) g = graphs[static_cast<std::size_t>(g)].parent;
  return g;
}

namespace {

bool names(const shape& s, number event) {
  return std::ranges::any_of(s.entries, [&](const shape::entry& e) {
    return e.event == event || (e.inside != nullptr && names(*e.inside, event));
  });
}

}  // namespace

bool model::is_named(number event) const {
  return std::ranges::any_of(nodes, [&](const node_state& n) { return n.live && n.event == event; }) ||
         std::ranges::any_of(execs, [&](const exec_state& x) { return x.live && names(*x.what, event); });
}

}  // namespace weir::graphs
