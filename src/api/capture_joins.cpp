// api/capture_joins.cpp - which streams of a capture come after which nodes.
#include "api/capture_joins.hpp"

#include "api/check.hpp"

#include <weir/error.hpp>
#include <weir/graph.hpp>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

// None with drivers that do not tell them.
std::optional<std::vector<graph_edge>> edges_of(CUgraph graph, call_site at) {
  try {
    return graph_ref{graph}.edges(at);
  } catch (const error& e) {
    if (e.result() != errc::call_requires_newer_driver) throw;
    return std::nullopt;
  }
}

// Adds all that the nodes come after.
void add_earlier(std::unordered_set<CUgraphNode>& nodes, const std::vector<graph_edge>& edges) {
  std::vector<std::pair<CUgraphNode, CUgraphNode>> backwards;
  backwards.reserve(edges.size());
  for (const graph_edge& edge : edges) backwards.emplace_back(edge.to.get(), edge.from.get());
  std::ranges::sort(backwards);
  std::vector<CUgraphNode> next{nodes.begin(), nodes.end()};
  while (!next.empty()) {
    const CUgraphNode node = next.back();
    next.pop_back();
    for (auto edge = std::ranges::lower_bound(backwards, std::pair{node, CUgraphNode{}});
         edge != backwards.end() && edge->first == node; ++edge) {
      if (nodes.insert(edge->second).second) next.push_back(edge->second);
    }
  }
}

}  // namespace

loose_streams find_loose(const std::vector<joined_stream>& joined, const capture_part& origin, call_site at) {
  loose_streams loose;
  if (joined.empty()) return loose;
  std::unordered_set<CUgraphNode> reached{origin.nodes, origin.nodes + origin.count};
  const auto edges = edges_of(origin.graph, at);
  if (edges) add_earlier(reached, *edges);
  for (const joined_stream& each : joined) {
    capture_part part;
    if (ask_capture(each.stream, part) != CUDA_SUCCESS || part.id != origin.id) continue;
    if (std::any_of(part.nodes, part.nodes + part.count, [&](CUgraphNode n) { return !reached.contains(n); })) {
      loose.streams.push_back(each.stream);
    }
  }
  loose.each = edges.has_value() || loose.streams.size() == 1;
  return loose;
}

void join_leaves(CUstream origin, const capture_part& now, const std::vector<joined_stream>& joined, call_site at) {
  const CUgraph graph = now.graph;
  const cuuint64_t id = now.id;
  std::size_t count = 0;
  check(driver().cuGraphGetNodes(graph, nullptr, &count), "cuGraphGetNodes", subject::graph(graph), at);
  if (count == 0) return;
  const auto edges = edges_of(graph, at);
  if (!edges) {
    for (const joined_stream& each : joined) {
      capture_part part;
      if (ask_capture(each.stream, part) == CUDA_SUCCESS && part.id == id) stream_ref{origin}.wait(each.stream, at);
    }
    return;
  }
  std::vector<CUgraphNode> nodes(count);
  check(driver().cuGraphGetNodes(graph, nodes.data(), &count), "cuGraphGetNodes", subject::graph(graph), at);
  std::unordered_set<CUgraphNode> inner;
  for (const graph_edge& edge : *edges) inner.insert(edge.from.get());
  std::erase_if(nodes, [&](CUgraphNode node) { return inner.contains(node); });
  if (nodes.empty()) return;
  check(driver().cuStreamUpdateCaptureDependencies_v2(origin, nodes.data(), nullptr, nodes.size(),
                                                      CU_STREAM_ADD_CAPTURE_DEPENDENCIES),
        "cuStreamUpdateCaptureDependencies", stream_ref{origin}, at);
}

}  // namespace weir::detail
