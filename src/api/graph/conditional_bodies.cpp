// SPDX-License-Identifier: Apache-2.0
// api/graph/conditional_bodies.cpp - checks which nodes the bodies of conditional nodes may hold.
#include "api/graph/conditional_bodies.hpp"

#include "api/core/check.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_calls.hpp"

#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include <fmt/format.h>

#include <utility>

namespace weir::detail {
namespace {

// Returns true if the driver allows nodes of this kind in the body of a conditional node.
bool is_allowed_in_body(node_kind kind) noexcept {
  switch (kind) {
    case node_kind::kernel:
    case node_kind::copy:
    case node_kind::fill:
    case node_kind::child_graph:
    case node_kind::empty:
    case node_kind::conditional: return true;
    default: return false;
  }
}

// Returns the first node of the graph or of its subgraphs for whose kind `matches` returns true; an
// empty node if there is none.
template <class Predicate>
graph_node find_node_if(CUgraph graph, const Predicate& matches, call_site at) {
  for (const graph_node node : graph_ref{graph}.nodes(at)) {
    const node_kind kind = node.kind(at);
    if (matches(kind)) return node;
    for (const CUgraph part : parts_of(node, kind, at)) {
      if (const graph_node found = find_node_if(part, matches, at)) return found;
    }
  }
  return {};
}

}  // namespace

std::vector<CUgraph> parts_of(graph_node node, node_kind kind, call_site at) {
  if (kind == node_kind::child_graph) {
    CUgraph child = nullptr;
    check(driver().cuGraphChildGraphNodeGetGraph(node.get(), &child),
          "cuGraphChildGraphNodeGetGraph", subject::graph(node.graph().get()), at);
    return {child};
  }
  if (kind != node_kind::conditional) return {};
  auto conditional = find_conditional_metadata(node.graph().get(), node.get());
  if (!conditional) return {};
  return std::move(conditional->bodies);
}

void throw_if_not_allowed_in_body(CUgraph graph, node_kind kind, call_site at) {
  if (!any_graph_metadata() || is_allowed_in_body(kind) || !is_in_body(graph)) [[likely]] {
    return;
  }
  throw_error(
      errc::not_supported, "cuGraphAddNode", to_string(graph_ref{graph}),
      fmt::format("a body of a conditional node cannot contain {}; use kernels, copies, fills, "
                  "empty nodes, child graphs and conditional nodes",
                  describe_kind(kind)),
      at);
}

graph_node find_not_allowed_in_body(CUgraph graph, call_site at) {
  return find_node_if(
      graph, [](node_kind kind) { return !is_allowed_in_body(kind); }, at);
}

graph_node find_not_copyable(CUgraph graph, call_site at) {
  return find_node_if(
      graph,
      [](node_kind kind) {
        return kind == node_kind::allocation || kind == node_kind::free ||
               kind == node_kind::conditional;
      },
      at);
}

graph_node find_conditional(CUgraph graph, call_site at) {
  return find_node_if(
      graph, [](node_kind kind) { return kind == node_kind::conditional; }, at);
}

void fail_clone(CUresult answer, graph_ref graph, call_site at) {
  constexpr const char* call = "cuGraphClone";
  if (answer != CUDA_ERROR_NOT_SUPPORTED)
    throw_error(static_cast<errc>(answer), call, subject::graph(graph.get()), at);
  const graph_node not_copyable = find_not_copyable(graph.get(), at);
  throw_error(
      errc::not_supported, call, to_string(graph),
      not_copyable
          ? fmt::format("a graph that contains {} cannot be cloned; build a second graph instead",
                        describe(not_copyable))
          : "",
      at);
}

}  // namespace weir::detail
