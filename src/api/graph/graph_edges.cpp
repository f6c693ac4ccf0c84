// api/graph/graph_edges.cpp - the order of nodes changed: edges added and removed, all of a list or
// none.
#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include "api/core/check.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/node_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weir {

using detail::require_open;

namespace {

// Edges as the driver takes them.
struct edge_arrays {
  std::vector<abi::CUgraphNode> from, to;
  std::vector<abi::CUgraphEdgeData> data;

  edge_arrays(std::span<const graph_edge> edges, CUgraph_st* graph, const char* call,
              call_site at) {
    from.reserve(edges.size());
    to.reserve(edges.size());
    data.reserve(edges.size());
    for (const graph_edge& edge : edges) {
      detail::require_node_of(edge.from, graph, call, at);
      detail::require_node_of(edge.to, graph, call, at);
      from.push_back(edge.from.get());
      to.push_back(edge.to.get());
      data.push_back({edge.data.from_port, edge.data.to_port, edge.data.type, {}});
    }
  }
};

std::string to_text(const graph_edge& edge) {
  return fmt::format("{} -> {}", detail::describe(edge.from), detail::describe(edge.to));
}

// An edge that is named twice; null if there is none. A driver may add the first of them before it
// finds out.
const graph_edge* find_duplicate(std::span<const graph_edge> edges) {
  if (edges.size() < 2) return nullptr;
  std::vector<const graph_edge*> sorted;
  sorted.reserve(edges.size());
  for (const graph_edge& edge : edges) sorted.push_back(&edge);
  const auto ends = [](const graph_edge* e) { return std::pair{e->from.get(), e->to.get()}; };
  std::ranges::sort(sorted, {}, ends);
  const auto duplicate = std::ranges::adjacent_find(sorted, {}, ends);
  return duplicate == sorted.end() ? nullptr : *duplicate;
}

void throw_if_duplicate(std::span<const graph_edge> edges, graph_ref graph, const char* call,
                        call_site at) {
  const graph_edge* const duplicate = find_duplicate(edges);
  if (duplicate == nullptr) return;
  detail::throw_error(errc::invalid_value, call, to_string(graph),
                      to_text(*duplicate) + " is named twice", at);
}

// Which edge the driver refused, and why.
[[noreturn, gnu::cold]] void fail_edges(abi::CUresult answer, std::span<const graph_edge> edges,
                                        graph_ref graph, bool expect_existing, const char* call,
                                        call_site at) {
  std::string reason;
  if (answer == abi::CUDA_ERROR_INVALID_VALUE) {
    const std::vector<graph_edge> all = graph.edges(at);
    const std::vector<graph_node> nodes = graph.nodes(at);
    const auto is_in_graph = [&](graph_node node) {
      return std::ranges::find(nodes, node) != nodes.end();
    };
    for (const graph_edge& edge : edges) {
      const bool exists = std::ranges::any_of(
          all, [&](const graph_edge& e) { return e.from == edge.from && e.to == edge.to; });
      if (!is_in_graph(edge.from) || !is_in_graph(edge.to)) {
        reason = to_text(edge) + " is not between nodes of this graph";
      } else if (edge.from == edge.to) {
        reason = to_text(edge) + " orders a node and itself";
      } else if (exists != expect_existing) {
        reason = to_text(edge) + (expect_existing ? " is not there" : " is there already");
      } else if (edge.data != edge_data{}) {
        reason = to_text(edge) + " has data; ports and types other than 0 are between kernels";
      }
      if (!reason.empty()) break;
    }
  } else if (answer == abi::CUDA_ERROR_NOT_SUPPORTED && expect_existing) {
    reason = "a graph that allocates or frees memory keeps all of its edges";
  } else if (answer == abi::CUDA_ERROR_ILLEGAL_STATE) {
    reason = "the graph is being captured; end that first";
  } else if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    reason = "data of edges other than 0 need a driver of CUDA 12.3";
  }
  detail::throw_error(static_cast<errc>(answer), call, to_string(graph), std::move(reason), at);
}

// A driver changes edges in their order, and leaves what it did when it comes to one that is there
// already, or is not. So that is asked before, where there are several.
void throw_if_any_edge_invalid(std::span<const graph_edge> edges, graph_ref graph,
                               bool expect_existing, const char* call, call_site at) {
  if (edges.size() < 2) return;
  std::map<abi::CUgraphNode, std::vector<abi::CUgraphNode>> wanted;  // sources by target
  for (const graph_edge& edge : edges) wanted[edge.to.get()].push_back(edge.from.get());
  for (auto& [to, sources] : wanted) {
    std::vector<abi::CUgraphNode> known;
    for (const graph_edge& edge : graph_node{to, graph}.dependencies(at))
      known.push_back(edge.from.get());
    std::ranges::sort(known);
    for (const abi::CUgraphNode from : sources) {
      if (std::ranges::binary_search(known, from) != expect_existing) {
        fail_edges(abi::CUDA_ERROR_INVALID_VALUE, edges, graph, expect_existing, call, at);
      }
    }
  }
}

}  // namespace

void graph_ref::add_dependencies(std::span<const graph_edge> edges, call_site at) const {
  constexpr const char* call = "cuGraphAddDependencies";
  CUgraph_st* const graph = require_open(*this, call, at);
  const edge_arrays arrays{edges, graph, call, at};
  throw_if_duplicate(edges, *this, call, at);
  if (edges.empty()) return;
  throw_if_any_edge_invalid(edges, *this, false, call, at);
  const abi::CUresult answer = detail::connect(graph, arrays.from.data(), arrays.to.data(),
                                               arrays.data.data(), edges.size());
  if (answer != abi::CUDA_SUCCESS) fail_edges(answer, edges, *this, false, call, at);
}

void graph_ref::remove_dependencies(std::span<const graph_edge> edges, call_site at) const {
  constexpr const char* call = "cuGraphRemoveDependencies";
  CUgraph_st* const graph = require_open(*this, call, at);
  const edge_arrays arrays{edges, graph, call, at};
  throw_if_duplicate(edges, *this, call, at);
  if (edges.empty()) return;
  throw_if_any_edge_invalid(edges, *this, true, call, at);
  const abi::CUresult answer = detail::disconnect(graph, arrays.from.data(), arrays.to.data(),
                                                  arrays.data.data(), edges.size());
  if (answer != abi::CUDA_SUCCESS) fail_edges(answer, edges, *this, true, call, at);
}

}  // namespace weir
