// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_node.cpp - the kind and the edges of nodes, and empty nodes.
#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/nodes/empty_node.hpp>

#include "api/core/check.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/node_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weir {

using detail::check;
using detail::driver;

namespace {

constexpr const char* not_a_node =
    "the node does not exist or was destroyed; pass a node of an existing graph";

// Throws if `answer`, the result of a query of a node, is a failure.
void check_query(abi::CUresult answer, const char* call, graph_node node, call_site at) {
  if (answer == abi::CUDA_ERROR_INVALID_VALUE)
    detail::throw_error(errc::invalid_value, call, to_string(node), not_a_node, at);
  check(answer, call, {}, at);
}

// Returns the edges to the dependencies or to the dependents of a node. `query(neighbours, data,
// count)` calls the driver. `edge(neighbour, data)` makes an edge.
template <class Query, class Edge>
std::vector<graph_edge> edges_at(graph_node node, const char* call, const Query& query,
                                 const Edge& edge, call_site at) {
  std::size_t count = 0;
  check_query(query(nullptr, nullptr, &count), call, node, at);
  std::vector<abi::CUgraphNode> neighbours(count);
  std::vector<abi::CUgraphEdgeData> data(count);
  if (count != 0) check(query(neighbours.data(), data.data(), &count), call, {}, at);
  std::vector<graph_edge> edges;
  edges.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    edges.push_back(
        edge(neighbours[i], edge_data{data[i].from_port, data[i].to_port, data[i].type}));
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
  constexpr const char* call = "cuGraphNodeGetDependencies";
  CUgraphNode_st* const handle = detail::require_open(*this, call, at);
  return edges_at(
      *this, call,
      [&](abi::CUgraphNode* nodes, abi::CUgraphEdgeData* data, std::size_t* count) {
        return detail::get_dependencies(handle, nodes, data, count);
      },
      [&](abi::CUgraphNode neighbour, edge_data data) {
        return graph_edge{graph_node{neighbour, graph_}, *this, data};
      },
      at);
}

std::vector<graph_edge> graph_node::dependents(call_site at) const {
  constexpr const char* call = "cuGraphNodeGetDependentNodes";
  CUgraphNode_st* const handle = detail::require_open(*this, call, at);
  return edges_at(
      *this, call,
      [&](abi::CUgraphNode* nodes, abi::CUgraphEdgeData* data, std::size_t* count) {
        return detail::get_dependents(handle, nodes, data, count);
      },
      [&](abi::CUgraphNode neighbour, edge_data data) {
        return graph_edge{*this, graph_node{neighbour, graph_}, data};
      },
      at);
}

CUgraphNode_st* empty_parameters::add_to(CUgraph_st* parent_graph, dependency_list dependencies,
                                         call_site at) const {
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_EMPTY;
  return detail::add_node(parent_graph, dependencies, params, {}, at);
}

}  // namespace weir
