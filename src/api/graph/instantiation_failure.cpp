// api/graph/instantiation_failure.cpp - the driver's result code and node, explained.
#include "api/graph/instantiation_failure.hpp"

#include "api/core/check.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_notes.hpp"

#include <weir/graph/nodes/child_graph_node.hpp>
#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weir::detail {
namespace {

// "a -> b -> a": the nodes of one cycle of the graph; empty if there is none in it.
std::string text_of_cycle(graph_ref graph, call_site at) {
  std::unordered_map<CUgraphNode, std::vector<CUgraphNode>> before;
  std::unordered_map<CUgraphNode, std::size_t> waits;
  for (const graph_edge& edge : graph.edges(at)) {
    before[edge.to.get()].push_back(edge.from.get());
    ++waits[edge.from.get()];
  }
  // What nothing comes after is on no cycle; without it, something else may be so, too.
  std::vector<CUgraphNode> last;
  for (const auto& [node, dependencies] : before) {
    if (!waits.contains(node)) last.push_back(node);
  }
  while (!last.empty()) {
    const CUgraphNode node = last.back();
    last.pop_back();
    for (const CUgraphNode earlier : before[node]) {
      if (--waits[earlier] == 0) last.push_back(earlier);
    }
    before.erase(node);
  }
  // All that is left leads backwards to a cycle.
  const auto on_it = [&](CUgraphNode node) { return before.contains(node) && !before.at(node).empty(); };
  CUgraphNode node = nullptr;
  for (const auto& [each, dependencies] : before) {
    if (on_it(each)) node = each;
  }
  if (node == nullptr) return {};
  std::vector<CUgraphNode> path;
  std::unordered_set<CUgraphNode> seen;
  while (seen.insert(node).second) {
    path.push_back(node);
    CUgraphNode next = nullptr;
    for (const CUgraphNode earlier : before.at(node)) {
      if (on_it(earlier)) next = earlier;
    }
    if (next == nullptr) return {};
    node = next;
  }
  constexpr std::size_t most_told = 8;
  std::string text = describe(graph_node{node, graph.get()});
  const std::string end = text;
  std::size_t told = 0;
  for (std::size_t i = path.size(); i-- > 0 && path[i] != node;) {
    if (++told > most_told) {
      text += " -> ...";
      break;
    }
    text += " -> " + describe(graph_node{path[i], graph.get()});
  }
  return text + " -> " + end;
}

// The same of a part of it, where there is none in the graph itself.
std::string text_of_any_cycle(graph_ref graph, call_site at) {
  std::string text = text_of_cycle(graph, at);
  const auto look_into = [&](CUgraph part) {
    if (text.empty()) text = text_of_any_cycle(graph_ref{part}, at);
  };
  for (const graph_node node : graph.nodes(at)) {
    if (!text.empty()) break;
    const node_kind kind = node.kind(at);
    if (kind == node_kind::child_graph) look_into(node.as<child_graph_node>(at).child(at).get());
    if (kind != node_kind::conditional) continue;
    if (const auto noted = conditional_noted(graph.get(), node.get())) {
      for (const CUgraph body : noted->bodies) look_into(body);
    }
  }
  return text;
}

std::string words_on(CUgraphInstantiateResult result, graph_ref source, call_site at) {
  switch (result) {
    case CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE: {
      const std::string cycle = text_of_any_cycle(source, at);
      return "the graph cannot be ordered: it has a cycle" + (cycle.empty() ? cycle : ", " + cycle);
    }
    case CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED:
      return "a node does what an executable of these options, or a body of a conditional node, cannot do";
    case CUDA_GRAPH_INSTANTIATE_MULTIPLE_CTXS_NOT_SUPPORTED:
      return "the nodes of a graph that the device launches have to be of one context";
    case CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED: return "a condition is used by no node of the graph";
    default: return {};
  }
}

}  // namespace

void fail_instantiation(CUresult answer, const CUDA_GRAPH_INSTANTIATE_PARAMS& told, graph_ref source, call_site at) {
  constexpr const char* call = "cuGraphInstantiateWithParams";
  std::string words = words_on(told.result_out, source, at);
  if (words.empty() && answer == CUDA_ERROR_NOT_SUPPORTED) {
    words =
        "a graph that is a part of a node is no executable of its own, and one that allocates or has conditional nodes "
        "has "
        "one executable at a time";
  }
  if (words.empty()) fail(static_cast<errc>(answer), call, subject::graph(source.get()), at);
  const CUgraphNode node = told.hErrNode_out;
  if (node != nullptr) words += fmt::format(" ({})", describe(graph_node{node, noted_graph_of(node)}));
  fail(static_cast<errc>(answer), call, to_string(source), std::move(words), at);
}

}  // namespace weir::detail
