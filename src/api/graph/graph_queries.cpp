// api/graph/graph_queries.cpp - what a graph is made of: nodes in order, roots, edges, and which
// node of a clone is whose.
#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include "api/core/check.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/node_calls.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <vector>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;
using detail::subject;

namespace {

// What a list function of the driver gives: asked once for how many there are, and once for them.
template <class Query>
std::vector<graph_node> list_of(const Query& query, const char* call, graph_ref of, call_site at) {
  std::size_t count = 0;
  check(query(nullptr, &count), call, subject::graph(of.get()), at);
  std::vector<abi::CUgraphNode> handles(count);
  if (count != 0) check(query(handles.data(), &count), call, subject::graph(of.get()), at);
  std::vector<graph_node> nodes;
  nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) nodes.emplace_back(handles[i], of.get());
  return nodes;
}

// Each after all that it depends on; nodes that become free at the same time stay in the order that
// they had.
std::vector<graph_node> in_topological_order(std::vector<graph_node> nodes,
                                             const std::vector<graph_edge>& edges) {
  if (edges.empty()) return nodes;
  std::unordered_map<CUgraphNode_st*, std::size_t> index;
  for (std::size_t i = 0; i < nodes.size(); ++i) index[nodes[i].get()] = i;
  std::vector<std::size_t> pending_dependencies(nodes.size());
  std::vector<std::vector<std::size_t>> next(nodes.size());
  for (const graph_edge& edge : edges) {
    ++pending_dependencies[index.at(edge.to.get())];
    next[index.at(edge.from.get())].push_back(index.at(edge.to.get()));
  }
  for (std::vector<std::size_t>& after : next)
    std::ranges::sort(after);  // whatever order the edges are told in
  std::vector<std::size_t> order;
  order.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (pending_dependencies[i] == 0) order.push_back(i);
  }
  for (std::size_t next_index = 0; next_index < order.size(); ++next_index) {
    for (const std::size_t after : next[order[next_index]]) {
      if (--pending_dependencies[after] == 0) order.push_back(after);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (pending_dependencies[i] != 0) order.push_back(i);  // of a cycle, or behind one
  }
  std::vector<graph_node> sorted;
  sorted.reserve(nodes.size());
  for (const std::size_t i : order) sorted.push_back(nodes[i]);
  return sorted;
}

}  // namespace

std::vector<graph_node> graph_ref::nodes(call_site at) const {
  CUgraph_st* const handle = require_open(*this, "cuGraphGetNodes", at);
  const auto query = [&](abi::CUgraphNode* nodes, std::size_t* count) {
    return driver().cuGraphGetNodes(handle, nodes, count);
  };
  return in_topological_order(list_of(query, "cuGraphGetNodes", *this, at), edges(at));
}

std::size_t graph_ref::node_count(call_site at) const {
  std::size_t count = 0;
  check(driver().cuGraphGetNodes(require_open(*this, "cuGraphGetNodes", at), nullptr, &count),
        "cuGraphGetNodes", subject::graph(handle_), at);
  return count;
}

std::vector<graph_node> graph_ref::roots(call_site at) const {
  CUgraph_st* const handle = require_open(*this, "cuGraphGetRootNodes", at);
  const auto query = [&](abi::CUgraphNode* nodes, std::size_t* count) {
    return driver().cuGraphGetRootNodes(handle, nodes, count);
  };
  return list_of(query, "cuGraphGetRootNodes", *this, at);
}

std::vector<graph_edge> graph_ref::edges(call_site at) const {
  constexpr const char* call = "cuGraphGetEdges";
  CUgraph_st* const handle = require_open(*this, call, at);
  std::size_t count = 0;
  check(detail::get_edges(handle, nullptr, nullptr, nullptr, &count), call, subject::graph(handle),
        at);
  std::vector<abi::CUgraphNode> from(count);
  std::vector<abi::CUgraphNode> to(count);
  std::vector<abi::CUgraphEdgeData> data(count);
  if (count != 0) {
    check(detail::get_edges(handle, from.data(), to.data(), data.data(), &count), call,
          subject::graph(handle), at);
  }
  std::vector<graph_edge> edges;
  edges.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    edges.push_back({graph_node{from[i], handle},
                     graph_node{to[i], handle},
                     {data[i].from_port, data[i].to_port, data[i].type}});
  }
  return edges;
}

graph_node graph_ref::find_clone_of(graph_node original, call_site at) const {
  constexpr const char* call = "cuGraphNodeFindInClone";
  CUgraph_st* const handle = require_open(*this, call, at);
  abi::CUgraphNode copy = nullptr;
  const abi::CUgraphNode node = detail::require_open(original, call, at);
  if (const abi::CUresult answer = driver().cuGraphNodeFindInClone(&copy, node, handle);
      answer != abi::CUDA_SUCCESS) {
    detail::throw_error(static_cast<errc>(answer), call, to_string(*this),
                        "this has to be a clone of the graph that the node is of, and the node to "
                        "have been there when it was "
                        "made",
                        at);
  }
  return graph_node{copy, handle};
}

}  // namespace weir
