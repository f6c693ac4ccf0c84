// api/graph/graph_node.cpp - nodes asked, joined, taken out, named.
#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include "api/capture/driver_frontier.hpp"
#include "api/core/check.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;

namespace {

constexpr const char* not_a_node = "it is no node, or gone";

// What a question about a node was answered with.
void check_query(abi::CUresult answer, const char* call, graph_node node, call_site at) {
  if (answer == abi::CUDA_ERROR_INVALID_VALUE)
    detail::throw_error(errc::invalid_value, call, to_string(node), not_a_node, at);
  check(answer, call, {}, at);
}

// The edges at one end of a node: query(others, data, count) calls the driver.
template <class Query, class Edge>
std::vector<graph_edge> edges_at(graph_node node, const char* call, const Query& query,
                                 const Edge& edge, call_site at) {
  std::size_t count = 0;
  check_query(query(nullptr, nullptr, &count), call, node, at);
  std::vector<abi::CUgraphNode> others(count);
  std::vector<abi::CUgraphEdgeData> data(count);
  if (count != 0) check(query(others.data(), data.data(), &count), call, {}, at);
  std::vector<graph_edge> edges;
  edges.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    edges.push_back(edge(others[i], edge_data{data[i].from_port, data[i].to_port, data[i].type}));
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

void graph_node::expect(node_kind wanted, call_site at) const {
  const node_kind is = kind(at);
  if (is == wanted) return;
  detail::throw_error(
      errc::wrong_type, "weir::graph_node::as", detail::describe(*this),
      fmt::format("it is {}, not {}", detail::describe_kind(is), detail::describe_kind(wanted)),
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
      [&](abi::CUgraphNode other, edge_data data) {
        return graph_edge{graph_node{other, graph_}, *this, data};
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
      [&](abi::CUgraphNode other, edge_data data) {
        return graph_edge{*this, graph_node{other, graph_}, data};
      },
      at);
}

graph_node graph_ref::join(dependency_list nodes, call_site at) const {
  if (nodes.size() == 1) {
    detail::require_node_of(*nodes.begin(), require_open(*this, "cuGraphAddNode", at),
                            "cuGraphAddNode", at);
    return *nodes.begin();
  }
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_EMPTY;
  return graph_node{detail::add_node(handle_, nodes, params, {}, at), handle_};
}

void graph_ref::remove(graph_node node, call_site at) const {
  constexpr const char* call = "cuGraphDestroyNode";
  CUgraph_st* const graph = require_open(*this, call, at);
  detail::require_node_of(node, graph, call, at);
  if (detail::any_capture_active()) detail::throw_if_part_captured(graph, node.get(), call, at);
  if (const abi::CUresult answer = driver().cuGraphDestroyNode(node.get());
      answer != abi::CUDA_SUCCESS) {
    const char* reason = "";
    if (answer == abi::CUDA_ERROR_INVALID_VALUE) reason = not_a_node;
    if (answer == abi::CUDA_ERROR_NOT_SUPPORTED)
      reason = "a graph that allocates or frees memory keeps all of its nodes";
    if (answer == abi::CUDA_ERROR_ILLEGAL_STATE)
      reason = "the graph is being captured; end that first";
    detail::throw_error(static_cast<errc>(answer), call, to_string(node), reason, at);
  }
  detail::release_user_objects(graph, detail::erase_node_metadata(graph, node.get()));
}

void graph_ref::tag(graph_node node, std::string_view name, call_site at) const {
  constexpr const char* call = "weir::graph_ref::tag";
  CUgraph_st* const graph = require_open(*this, call, at);
  detail::require_node_of(node, graph, call, at);
  const bool has_graph = node.graph().get() != nullptr;
  if (!has_graph || !detail::is_known_node(graph, node.get())) {
    const std::vector<CUgraphNode_st*> all = detail::nodes_of(graph, at);
    if (std::ranges::find(all, node.get()) == all.end()) {
      detail::throw_error(errc::invalid_value, call, to_string(*this),
                          to_string(node) + " is no node of it, or gone", at);
    }
  }
  if (!name.empty()) detail::ensure_metadata(graph, at);
  if (name.empty() && !detail::any_graph_metadata()) return;
  detail::set_tag(graph, node.get(), name);
}

std::string graph_ref::tag_of(graph_node node, call_site at) const {
  return detail::get_tag(require_open(*this, "weir::graph_ref::tag_of", at), node.get());
}

graph_node graph_ref::find(std::string_view tag, call_site at) const {
  constexpr const char* call = "weir::graph_ref::find";
  CUgraph_st* const graph = require_open(*this, call, at);
  const detail::tag_match found = detail::find_tag(graph, tag);
  if (found.node_count > 1) {
    detail::throw_error(errc::invalid_value, call, to_string(*this),
                        fmt::format("{} nodes are \"{}\"", found.node_count, tag), at);
  }
  return found.node == nullptr ? graph_node{} : graph_node{found.node, graph};
}

}  // namespace weir
