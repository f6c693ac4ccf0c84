// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_node.cpp - the kind and the edges of nodes, and empty nodes.
#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/empty_node.hpp>

#include "api/core/check.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/node_calls.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace weir {

using detail::check;
using detail::driver;

namespace {

// Throws if `answer`, the result of a query of a node, is a failure.
void check_query(abi::CUresult answer, const char* call, graph_node node, call_site at) {
  if (answer == abi::CUDA_ERROR_INVALID_VALUE)
    detail::throw_error(errc::invalid_value, call, to_string(node), detail::no_such_node, at);
  check(answer, call, {}, at);
}

// Returns the edges from the neighbours that the driver lists to the node.
template <class Query>
std::vector<graph_edge> edges_to(graph_node node, const char* call, const Query& query,
                                 call_site at) {
  CUgraphNode_st* const handle = detail::require_open(node, call, at);
  std::size_t count = 0;
  check_query(query(handle, nullptr, nullptr, &count), call, node, at);
  std::vector<abi::CUgraphNode> neighbours(count);
  std::vector<abi::CUgraphEdgeData> data(count);  // zeros, which older drivers do not change
  if (count != 0) check(query(handle, neighbours.data(), data.data(), &count), call, {}, at);
  std::vector<graph_edge> edges;
  edges.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    edges.push_back(
        {graph_node{neighbours[i], node.graph().get()}, node, detail::to_edge_data(data[i])});
  }
  return edges;
}

}  // namespace

node_kind graph_node::kind(call_site at) const {
  constexpr const char* call = "cuGraphNodeGetType";
  abi::CUgraphNodeType type = abi::CU_GRAPH_NODE_TYPE_EMPTY;
  check_query(driver().cuGraphNodeGetType(detail::require_open(*this, call, at), &type), call,
              *this, at);
  return static_cast<node_kind>(type);
}

void graph_node::require_kind(node_kind expected, call_site at) const {
  const node_kind actual = kind(at);
  if (actual == expected) return;
  detail::throw_error(errc::wrong_type, "weir::graph_node::as", detail::describe(*this),
                      fmt::format("the node is {}, not {}; check its kind() first",
                                  detail::describe_kind(actual), detail::describe_kind(expected)),
                      at);
}

std::vector<graph_edge> graph_node::dependencies(call_site at) const {
  return edges_to(*this, "cuGraphNodeGetDependencies", detail::get_dependencies, at);
}

std::vector<graph_edge> graph_node::dependents(call_site at) const {
  auto edges = edges_to(*this, "cuGraphNodeGetDependentNodes", detail::get_dependents, at);
  for (graph_edge& edge : edges) std::swap(edge.source, edge.target);
  return edges;
}

CUgraphNode_st* empty_parameters::add_to(detail::insertion_point point, call_site at) const {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_EMPTY;
  return detail::add_node(point, params, {}, at);
}

}  // namespace weir
