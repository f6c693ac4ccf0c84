// SPDX-License-Identifier: Apache-2.0
// sequences/graphs.cpp - the graphs of a sequence: added and described.
#include "sequences/graphs.hpp"

#include <map>

namespace weir::sequences {

std::string add_graph(world& w, graph_object made) {
  if (live_indices(w.graphs).size() >= max_graphs) {
    (void)w.driver().cuGraphDestroy(made.handle);
    return "one graph too many";
  }
  made.name = fmt::format("g{}", w.graphs.size());
  w.graphs.push_back(made);
  return made.name;
}

std::string shape_of(const world& w, CUgraph graph) {
  const driver_table& d = w.driver();
  std::size_t count = 0, edges = 0;
  if (d.cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return "no nodes told";
  std::vector<CUgraphNode> nodes(count);
  if (count != 0) (void)d.cuGraphGetNodes(graph, nodes.data(), &count);
  (void)d.cuGraphGetEdges_v2(graph, nullptr, nullptr, nullptr, &edges);
  std::map<unsigned, unsigned> kinds;
  for (CUgraphNode node : nodes) {
    CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
    (void)d.cuGraphNodeGetType(node, &type);
    ++kinds[type];
  }
  std::string text = "nodes";
  for (const auto& [kind, times] : kinds) text += fmt::format(" {}x{}", kind, times);
  return text + fmt::format(" edges {}", edges);
}

}  // namespace weir::sequences
