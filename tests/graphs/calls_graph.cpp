// SPDX-License-Identifier: Apache-2.0
// graphs/calls_graph.cpp - graphs built by hand: children, edges, clones.
#include "graphs/sequence_state.hpp"

#include <algorithm>

namespace weir::graphs {
namespace {

void create(sequence_state& w) {
  const auto alive_count =
      std::ranges::count_if(w.m.graphs, [](const graph_state& g) { return g.is_alive; });
  if (alive_count > 12) return;
  const object_id g = w.m.make_graph();
  CUgraph& made = sequence_state::at(w.graphs, g);
  w.call(w.any_thread(), fmt::format("cuGraphCreate() g{}", g), CUDA_SUCCESS,
         [&] { return w.driver().cuGraphCreate(&made, 0); });
}

std::size_t size_with_parts(sequence_state& w, object_id g) {
  std::size_t size = w.m.graph(g).nodes.size();
  for (const object_id n : w.m.graph(g).nodes) {
    if (w.m.node(n).inside >= 0) size += size_with_parts(w, w.m.node(n).inside);
  }
  return size;
}

void add_child(sequence_state& w) {
  const object_id g = w.known_graph(), child = w.known_graph();
  if (g < 0 || child < 0 || w.m.root_of(g) == child || g == child ||
      w.m.graph(g).nodes.size() >= most_nodes)
    return;
  if (size_with_parts(w, child) > most_nodes || size_with_parts(w, w.m.root_of(g)) > most_nodes)
    return;
  const bool move = w.d.one_in(4) && w.m.graph(child).capture < 0;
  w.resolve(g);
  w.resolve(child);
  const std::vector<object_id> behind = w.some_nodes(g, 2);
  object_id made = -1;
  const expected_result expected = w.m.add_child(g, child, behind, move, made);
  CUgraphNode node = nullptr;
  w.call(w.any_thread(),
         fmt::format("cuGraphAddChildGraphNode(g{}, {}, g{}{}) n{}", g, w.names(behind), child,
                     move ? " itself" : "", made),
         expected, [&] {
           const std::vector<CUgraphNode> handles = handles_of(w, behind);
           const CUgraph to = sequence_state::at(w.graphs, g),
                         inside = sequence_state::at(w.graphs, child);
           if (!move)
             return w.driver().cuGraphAddChildGraphNode(&node, to, handles.data(), handles.size(),
                                                        inside);
           CUgraphNodeParams p;
           std::memset(&p, 0, sizeof p);
           p.type = CU_GRAPH_NODE_TYPE_GRAPH;
           p.graph.graph = inside;
           p.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
           return w.driver().cuGraphAddNode_v2(&node, to, handles.data(), nullptr, handles.size(),
                                               &p);
         });
  if (made < 0) return;
  sequence_state::at(w.nodes, made) = node;
  if (move) return;
  const object_id inside = w.m.node(made).inside;
  expect_success(
      w.driver().cuGraphChildGraphNodeGetGraph(node, &sequence_state::at(w.graphs, inside)),
      "cuGraphChildGraphNodeGetGraph");
  w.find_clones(inside);
}

// The edges that a driver reports during a capture into the graph are unspecified.
void change_edges(sequence_state& w) {
  const object_id g = w.known_graph(), other = w.known_graph();
  if (g < 0 || w.m.graph(g).capture >= 0) return;
  std::vector<object_id> from, to;
  const bool removes = w.d.one_in(3);
  for (unsigned left = w.d.one_in(4) ? 3 : 1; left > 0; --left) {
    const object_id n = w.any_node(g);
    object_id m = w.any_node(w.d.one_in(25) && other >= 0 ? other : g);
    if (n == m && !w.d.one_in(8)) m = w.any_node(g);
    if (n < 0 || m < 0) return;
    const std::vector<object_id>& before = w.m.node(m).before;
    const bool there = removes && !before.empty() && w.m.node(m).graph == g && !w.d.one_in(8);
    // Usually adds forward edges, so that few graphs have cycles.
    const bool swap = !there && n > m && w.m.node(m).graph == g && !w.d.one_in(10);
    from.push_back(there ? before[w.d.below(static_cast<unsigned>(before.size()))] : swap ? m : n);
    to.push_back(swap ? n : m);
  }
  const expected_result expected =
      removes ? w.m.remove_edges(g, from, to) : w.m.add_edges(g, from, to);
  w.call(w.any_thread(),
         fmt::format("cuGraph{}Dependencies(g{}, {} > {})", removes ? "Remove" : "Add", g,
                     w.names(from), w.names(to)),
         expected, [&] {
           const std::vector<CUgraphNode> f = handles_of(w, from), t = handles_of(w, to);
           const CUgraph in = sequence_state::at(w.graphs, g);
           return removes ? w.driver().cuGraphRemoveDependencies_v2(in, f.data(), t.data(), nullptr,
                                                                    f.size())
                          : w.driver().cuGraphAddDependencies_v2(in, f.data(), t.data(), nullptr,
                                                                 f.size());
         });
}

void clone(sequence_state& w) {
  const object_id g = w.known_graph();
  if (g < 0 || w.m.graph(g).parent >= 0) return;
  w.resolve(g);
  const object_id made = w.m.clone(g);
  CUgraph& copy = sequence_state::at(w.graphs, made);
  w.call(w.any_thread(), fmt::format("cuGraphClone(g{}) g{}", g, made), CUDA_SUCCESS,
         [&] { return w.driver().cuGraphClone(&copy, sequence_state::at(w.graphs, g)); });
  w.find_clones(made);
  w.describe(made);
}

void find_in_clone(sequence_state& w) {
  const object_id g = w.known_graph(), other = w.known_graph(),
                  n = other < 0 ? -1 : w.any_node(other);
  if (g < 0 || n < 0) return;
  const object_id found = w.m.counterpart(n, g);
  CUgraphNode node = nullptr;
  w.call(w.any_thread(), fmt::format("cuGraphNodeFindInClone(n{}, g{})", n, g),
         found >= 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE, [&] {
           return w.driver().cuGraphNodeFindInClone(&node, sequence_state::at(w.nodes, n),
                                                    sequence_state::at(w.graphs, g));
         });
  if (found >= 0 && node != sequence_state::at(w.nodes, found)) throw finding{"and another node"};
}

void destroy_graph(sequence_state& w) {
  const object_id g = w.known_graph();
  if (g < 0) return;
  const expected_result expected = w.m.destroy_graph(g);
  w.call(w.any_thread(), fmt::format("cuGraphDestroy(g{})", g), expected,
         [&] { return w.driver().cuGraphDestroy(sequence_state::at(w.graphs, g)); });
}

void describe(sequence_state& w) {
  if (const object_id g = w.known_graph(); g >= 0) w.describe(g);
}

}  // namespace

std::span<const action> graph_actions() {
  static constexpr action all[] = {{3, create},  {3, add_child},     {5, change_edges},
                                   {2, clone},   {1, destroy_graph}, {1, find_in_clone},
                                   {3, describe}};
  return all;
}

}  // namespace weir::graphs
