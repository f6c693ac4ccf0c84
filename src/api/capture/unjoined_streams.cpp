// SPDX-License-Identifier: Apache-2.0
// api/capture/unjoined_streams.cpp - finds and joins the forked streams of a capture.
#include "api/capture/unjoined_streams.hpp"

#include "api/core/check.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/node_calls.hpp"

#include <weir/graph/graph.hpp>

#include <algorithm>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

// Adds to `nodes` all direct and indirect dependencies of its elements.
void add_ancestors(std::unordered_set<CUgraphNode>& nodes, const std::vector<graph_edge>& edges) {
  std::vector<std::pair<CUgraphNode, CUgraphNode>> reversed;
  reversed.reserve(edges.size());
  for (const graph_edge& edge : edges) reversed.emplace_back(edge.target.get(), edge.source.get());
  std::ranges::sort(reversed);
  std::vector<CUgraphNode> next{nodes.begin(), nodes.end()};
  while (!next.empty()) {
    const CUgraphNode node = next.back();
    next.pop_back();
    for (auto edge = std::ranges::lower_bound(reversed, std::pair{node, CUgraphNode{}});
         edge != reversed.end() && edge->first == node; ++edge) {
      if (nodes.insert(edge->second).second) next.push_back(edge->second);
    }
  }
}

}  // namespace

std::vector<CUstream> find_unjoined(const std::vector<joined_stream>& joined,
                                    const stream_capture_info& origin, call_site at) {
  std::vector<CUstream> unjoined;
  if (joined.empty()) return unjoined;
  std::unordered_set<CUgraphNode> reached{origin.nodes, origin.nodes + origin.count};
  add_ancestors(reached, graph_ref{origin.graph}.edges(at));
  for (const joined_stream& each : joined) {
    stream_capture_info info;
    // A stream that has left this capture is not checked.
    if (try_query_capture(each.stream, info) != CUDA_SUCCESS || info.id != origin.id) continue;
    if (std::any_of(info.nodes, info.nodes + info.count,
                    [&](CUgraphNode n) { return !reached.contains(n); })) {
      unjoined.push_back(each.stream);
    }
  }
  return unjoined;
}

void join_leaves(CUstream origin, CUgraph graph, call_site at) {
  std::vector<CUgraphNode> nodes = nodes_of(graph, at);
  if (nodes.empty()) return;
  std::unordered_set<CUgraphNode> inner;
  for (const graph_edge& edge : graph_ref{graph}.edges(at)) inner.insert(edge.source.get());
  std::erase_if(nodes, [&](CUgraphNode node) { return inner.contains(node); });
  if (nodes.empty()) return;
  check(
      set_frontier(origin, nodes.data(), nullptr, nodes.size(), CU_STREAM_ADD_CAPTURE_DEPENDENCIES),
      "cuStreamUpdateCaptureDependencies", stream_ref{origin}, at);
}

}  // namespace weir::detail
