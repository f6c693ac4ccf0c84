// SPDX-License-Identifier: Apache-2.0
// api/graph/instantiation_failure.cpp - explains why a graph cannot be instantiated.
#include "api/graph/instantiation_failure.hpp"

#include "api/core/check.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"

#include <weir/core/to_string.hpp>
#include <weir/graph/nodes/child_graph_node.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weir::detail {
namespace {

using predecessor_map = std::unordered_map<CUgraphNode, std::vector<CUgraphNode>>;

// Returns the predecessors of each node from which a cycle can be reached along dependents, or that
// is on a cycle. To find these nodes, repeatedly removes nodes that have no dependents.
predecessor_map predecessors_towards_cycles(graph_ref graph, call_site at) {
  predecessor_map predecessors;
  std::unordered_map<CUgraphNode, std::size_t> dependent_count;
  for (const graph_edge& edge : graph.edges(at)) {
    predecessors[edge.target.get()].push_back(edge.source.get());
    ++dependent_count[edge.source.get()];
  }
  std::vector<CUgraphNode> last;
  for (const auto& [node, dependencies] : predecessors) {
    if (!dependent_count.contains(node)) last.push_back(node);
  }
  while (!last.empty()) {
    const CUgraphNode node = last.back();
    last.pop_back();
    for (const CUgraphNode earlier : predecessors[node]) {
      if (--dependent_count[earlier] == 0) last.push_back(earlier);
    }
    predecessors.erase(node);
  }
  return predecessors;
}

// Returns the nodes of a cycle, each followed by one of its predecessors. Returns an empty list if
// there is no cycle.
std::vector<CUgraphNode> find_cycle(const predecessor_map& predecessors) {
  const auto has_predecessors = [&](CUgraphNode node) {
    return predecessors.contains(node) && !predecessors.at(node).empty();
  };
  CUgraphNode node = nullptr;
  for (const auto& [candidate, dependencies] : predecessors) {
    if (has_predecessors(candidate)) node = candidate;
  }
  if (node == nullptr) return {};
  std::vector<CUgraphNode> path;
  std::unordered_set<CUgraphNode> visited;
  while (visited.insert(node).second) {
    path.push_back(node);
    CUgraphNode next = nullptr;
    for (const CUgraphNode earlier : predecessors.at(node)) {
      if (has_predecessors(earlier)) next = earlier;
    }
    if (next == nullptr) return {};
    node = next;
  }
  path.erase(path.begin(), std::ranges::find(path, node));
  return path;
}

// Returns a text such as "a -> b -> a" for a cycle among the nodes of the graph; empty if there is
// none. Does not search child graphs and bodies.
std::string describe_cycle(graph_ref graph, call_site at) {
  constexpr std::size_t max_listed = 8;
  const std::vector<CUgraphNode> cycle = find_cycle(predecessors_towards_cycles(graph, at));
  if (cycle.empty()) return {};
  const auto name_of_node = [&](CUgraphNode node) {
    return describe(graph_node{node, graph.get()});
  };
  std::string text = name_of_node(cycle.front());
  std::size_t listed = 0;
  for (std::size_t i = cycle.size(); i-- > 1;) {
    if (++listed > max_listed) {
      text += " -> ...";
      break;
    }
    text += " -> " + name_of_node(cycle[i]);
  }
  return text + " -> " + name_of_node(cycle.front());
}

// Like describe_cycle(), but also searches the subgraphs: child graphs and conditional bodies at
// any depth.
std::string describe_any_cycle(graph_ref graph, call_site at) {
  std::string text = describe_cycle(graph, at);
  const auto search_part = [&](CUgraph part) {
    if (text.empty()) text = describe_any_cycle(graph_ref{part}, at);
  };
  for (const graph_node node : graph.nodes(at)) {
    if (!text.empty()) break;
    const node_kind kind = node.kind(at);
    if (kind == node_kind::child_graph) search_part(node.as<child_graph_node>(at).child(at).get());
    if (kind != node_kind::conditional) continue;
    if (const auto conditional = find_conditional_metadata(graph.get(), node.get())) {
      for (const CUgraph body : conditional->bodies) search_part(body);
    }
  }
  return text;
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
