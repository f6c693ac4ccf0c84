// SPDX-License-Identifier: Apache-2.0
// api/graph/instantiation_failure.cpp - explains why a graph cannot be instantiated.
#include "api/graph/instantiation_failure.hpp"

#include "api/core/check.hpp"
#include "api/graph/conditional_bodies.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"

#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weir::detail {
namespace {

// Returns a text such as "a -> b -> a" for a cycle among the nodes; empty if there is none. `nodes`
// are in topological order: nodes on cycles, and nodes behind them, come last.
std::string describe_cycle(const std::vector<graph_node>& nodes,
                           const std::vector<graph_edge>& edges) {
  constexpr std::size_t max_listed = 8;
  std::unordered_map<CUgraphNode, std::size_t> position;
  for (std::size_t i = 0; i < nodes.size(); ++i) position[nodes[i].get()] = i;
  // The position of the first node on a cycle or behind one.
  std::size_t first_unsorted = nodes.size();
  for (const graph_edge& edge : edges) {
    const std::size_t target = position.at(edge.target.get());
    if (position.at(edge.source.get()) >= target) first_unsorted = std::min(first_unsorted, target);
  }
  if (first_unsorted == nodes.size()) return {};
  // Each node from that position on depends on another such node. Thus the way along such
  // dependencies leads into a cycle.
  std::unordered_map<CUgraphNode, graph_node> dependency;
  for (const graph_edge& edge : edges) {
    if (position.at(edge.source.get()) >= first_unsorted)
      dependency[edge.target.get()] = edge.source;
  }
  std::vector<graph_node> cycle;  // each node depends on the next one
  std::unordered_set<CUgraphNode> visited;
  graph_node node = nodes[first_unsorted];
  for (; visited.insert(node.get()).second; node = dependency.at(node.get())) cycle.push_back(node);
  cycle.erase(cycle.begin(), std::ranges::find(cycle, node));
  std::string text = describe(node);
  for (std::size_t i = cycle.size(); i-- > 1;) {
    if (cycle.size() - i > max_listed) {
      text += " -> ...";
      break;
    }
    text += " -> " + describe(cycle[i]);
  }
  return text + " -> " + describe(node);
}

// Like describe_cycle(), for the nodes of the graph and of its subgraphs: child graphs and
// conditional bodies at any depth.
std::string describe_any_cycle(graph_ref graph, call_site at) {
  const std::vector<graph_node> nodes = graph.nodes(at);
  std::string text = describe_cycle(nodes, graph.edges(at));
  if (!text.empty()) return text;
  for (const graph_node node : nodes) {
    for (const CUgraph part : parts_of(node, node.kind(at), at)) {
      text = describe_any_cycle(graph_ref{part}, at);
      if (!text.empty()) return text;
    }
  }
  return {};
}

std::string reason_for(CUgraphInstantiateResult result, graph_ref source, call_site at) {
  switch (result) {
    case CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE: {
      const std::string cycle = describe_any_cycle(source, at);
      return fmt::format("the graph has a cycle{}{}; remove one of its edges",
                         cycle.empty() ? "" : ", ", cycle);
    }
    case CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED:
      return "a node's operation is not supported with these options or in a body of a "
             "conditional node; change the options or remove the node";
    case CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED:
      return "the nodes belong to different contexts; use one context for a graph that the "
             "device launches";
    case CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED:
      return "a condition is not used by any node of the graph; add its conditional node, or "
             "do not create it";
    default: return {};
  }
}

}  // namespace

void fail_instantiation(CUresult answer, const CUDA_GRAPH_INSTANTIATE_PARAMS& params,
                        graph_ref source, call_site at) {
  constexpr const char* call = "cuGraphInstantiateWithParams";
  std::string reason = reason_for(params.result_out, source, at);
  if (reason.empty() && answer == CUDA_ERROR_NOT_SUPPORTED) {
    reason =
        "the graph is part of a node, or has allocations or conditional nodes and thus one "
        "executable at a time; instantiate the enclosing graph, or close the other executable "
        "first";
  }
  if (reason.empty())
    throw_error(static_cast<errc>(answer), call, subject::graph(source.get()), at);
  const CUgraphNode node = params.hErrNode_out;
  if (node != nullptr)
    reason += fmt::format(" ({})", describe(graph_node{node, find_graph_of(node)}));
  throw_error(static_cast<errc>(answer), call, to_string(source), std::move(reason), at);
}

}  // namespace weir::detail
