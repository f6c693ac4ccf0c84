// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_ref.cpp - the nodes, edges and tags of borrowed graphs, and clones.
#include <weir/core/to_string.hpp>
#include <weir/graph/graph.hpp>

#include "api/core/check.hpp"
#include "api/graph/conditional_bodies.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/graph_checks.hpp"
#include "api/graph/graph_metadata.hpp"
#include "api/graph/node_calls.hpp"
#include "api/graph/node_metadata.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weir {

using detail::check;
using detail::driver;
using detail::require_open;
using detail::subject;

namespace {

std::vector<graph_node> nodes_from(const std::vector<abi::CUgraphNode>& handles, graph_ref graph) {
  std::vector<graph_node> nodes;
  nodes.reserve(handles.size());
  for (const abi::CUgraphNode handle : handles) nodes.emplace_back(handle, graph.get());
  return nodes;
}

// Sorts the nodes so that each node comes after its dependencies. The result depends only on the
// order of `nodes`, not on the order of `edges`. Nodes on a cycle or behind one come last.
std::vector<graph_node> in_topological_order(std::vector<graph_node> nodes,
                                             const std::vector<graph_edge>& edges) {
  if (edges.empty()) return nodes;
  std::unordered_map<CUgraphNode_st*, std::size_t> index;
  for (std::size_t i = 0; i < nodes.size(); ++i) index[nodes[i].get()] = i;
  std::vector<std::size_t> pending_dependencies(nodes.size());
  std::vector<std::vector<std::size_t>> next(nodes.size());
  for (const graph_edge& edge : edges) {
    ++pending_dependencies[index.at(edge.target.get())];
    next[index.at(edge.source.get())].push_back(index.at(edge.target.get()));
  }
  for (std::vector<std::size_t>& after : next)
    std::ranges::sort(after);  // makes the result independent of the order of `edges`
  std::vector<graph_node> sorted;
  sorted.reserve(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (pending_dependencies[i] == 0) sorted.push_back(nodes[i]);
  }
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (const std::size_t after : next[index.at(sorted[i].get())]) {
      if (--pending_dependencies[after] == 0) sorted.push_back(nodes[after]);
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (pending_dependencies[i] != 0) sorted.push_back(nodes[i]);  // on a cycle, or behind one
  }
  return sorted;
}

// Edges as separate arrays of sources, targets and data for the driver.
struct edge_arrays {
  std::vector<abi::CUgraphNode> sources, targets;
  std::vector<abi::CUgraphEdgeData> data;

  edge_arrays(std::span<const graph_edge> edges, CUgraph_st* graph, const char* call,
              call_site at) {
    sources.reserve(edges.size());
    targets.reserve(edges.size());
    data.reserve(edges.size());
    for (const graph_edge& edge : edges) {
      detail::require_node_of(edge.source, graph, call, at);
      detail::require_node_of(edge.target, graph, call, at);
      sources.push_back(edge.source.get());
      targets.push_back(edge.target.get());
      data.push_back({edge.data.from_port, edge.data.to_port, edge.data.type, {}});
    }
  }
};

std::string to_text(const graph_edge& edge) {
  return fmt::format("{} -> {}", detail::describe(edge.source), detail::describe(edge.target));
}

// How edges are changed.
struct edge_change {
  const char* call;
  abi::CUresult (*apply)(abi::CUgraph graph, const abi::CUgraphNode* sources,
                         const abi::CUgraphNode* targets, const abi::CUgraphEdgeData* data,
                         std::size_t count) noexcept;
  bool must_exist;  // true: the edges must exist before the change; false: they must not
};
constexpr edge_change adding_edges{"cuGraphAddDependencies", &detail::connect, false};
constexpr edge_change removing_edges{"cuGraphRemoveDependencies", &detail::disconnect, true};

// Throws if an edge is listed twice. A driver may add the edge once before it refuses it the second
// time.
void throw_if_duplicate(std::span<const graph_edge> edges, graph_ref graph,
                        const edge_change& change, call_site at) {
  std::vector<graph_edge> sorted{edges.begin(), edges.end()};
  const auto ends = [](const graph_edge& e) { return std::pair{e.source.get(), e.target.get()}; };
  std::ranges::sort(sorted, {}, ends);
  const auto duplicate = std::ranges::adjacent_find(sorted, {}, ends);
  if (duplicate == sorted.end()) return;
  detail::throw_error(errc::invalid_value, change.call, to_string(graph),
                      to_text(*duplicate) + " is listed twice; list each edge once", at);
}

// Returns what is wrong with the first invalid edge in `edges`; empty if no error is found.
std::string invalid_edge_reason(std::span<const graph_edge> edges, graph_ref graph,
                                const edge_change& change, call_site at) {
  const std::vector<graph_edge> existing_edges = graph.edges(at);
  const std::vector<graph_node> nodes = graph.nodes(at);
  const auto is_in_graph = [&](graph_node node) {
    return std::ranges::find(nodes, node) != nodes.end();
  };
  for (const graph_edge& edge : edges) {
    const bool exists = std::ranges::any_of(existing_edges, [&](const graph_edge& existing) {
      return existing.source == edge.source && existing.target == edge.target;
    });
    if (!is_in_graph(edge.source) || !is_in_graph(edge.target))
      return to_text(edge) + " does not connect two nodes of this graph; use nodes of this graph";
    if (edge.source == edge.target)
      return to_text(edge) + " connects a node to itself; use two different nodes";
    if (change.must_exist && !exists)
      return to_text(edge) + " does not exist; remove only existing edges";
    if (!change.must_exist && exists) return to_text(edge) + " already exists; add each edge once";
    if (edge.data != edge_data{})
      return to_text(edge) +
             " has data other than 0, which is valid only between kernels; use a plain edge";
  }
  return {};
}

// Throws the error for edges that the driver refused or would refuse. For INVALID_VALUE, names the
// first invalid edge.
[[noreturn, gnu::cold]] void fail_edges(abi::CUresult answer, std::span<const graph_edge> edges,
                                        graph_ref graph, const edge_change& change, call_site at) {
  std::string reason;
  if (answer == abi::CUDA_ERROR_INVALID_VALUE) {
    reason = invalid_edge_reason(edges, graph, change, at);
  } else if (answer == abi::CUDA_ERROR_NOT_SUPPORTED && change.must_exist) {
    reason =
        "edges of a graph that allocates or frees memory cannot be removed; build a new "
        "graph";
  } else if (answer == abi::CUDA_ERROR_ILLEGAL_STATE) {
    reason = "the graph is the target of a capture; end the capture first";
  } else if (answer == abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    reason =
        "edge data other than 0 needs a driver for CUDA 12.3 or later; install a newer "
        "driver, or use plain edges";
  }
  detail::throw_error(static_cast<errc>(answer), change.call, to_string(graph), std::move(reason),
                      at);
}

// Called before several edges are added or removed in one driver call. Throws if an edge to add
// already exists, or an edge to remove does not exist.
//
// The driver changes the edges one by one. If it refuses one of them, it does not undo the earlier
// changes.
void throw_if_any_edge_invalid(std::span<const graph_edge> edges, graph_ref graph,
                               const edge_change& change, call_site at) {
  if (edges.size() < 2) return;
  std::map<abi::CUgraphNode, std::vector<abi::CUgraphNode>> sources_by_target;
  for (const graph_edge& edge : edges)
    sources_by_target[edge.target.get()].push_back(edge.source.get());
  for (auto& [target, sources] : sources_by_target) {
    std::vector<abi::CUgraphNode> known;
    for (const graph_edge& edge : graph_node{target, graph}.dependencies(at))
      known.push_back(edge.source.get());
    std::ranges::sort(known);
    for (const abi::CUgraphNode source : sources) {
      if (std::ranges::binary_search(known, source) != change.must_exist)
        fail_edges(abi::CUDA_ERROR_INVALID_VALUE, edges, graph, change, at);
    }
  }
}

void change_edges(std::span<const graph_edge> edges, graph_ref graph, const edge_change& change,
                  call_site at) {
  CUgraph_st* const handle = require_open(graph, change.call, at);
  const edge_arrays arrays{edges, handle, change.call, at};
  throw_if_duplicate(edges, graph, change, at);
  if (edges.empty()) return;
  throw_if_any_edge_invalid(edges, graph, change, at);
  const abi::CUresult answer = change.apply(handle, arrays.sources.data(), arrays.targets.data(),
                                            arrays.data.data(), edges.size());
  if (answer != abi::CUDA_SUCCESS) fail_edges(answer, edges, graph, change, at);
}

}  // namespace

std::vector<graph_node> graph_ref::nodes(call_site at) const {
  CUgraph_st* const handle = require_open(*this, "cuGraphGetNodes", at);
  return in_topological_order(nodes_from(detail::nodes_of(handle, at), *this), edges(at));
}

std::size_t graph_ref::node_count(call_site at) const {
  std::size_t count = 0;
  check(driver().cuGraphGetNodes(require_open(*this, "cuGraphGetNodes", at), nullptr, &count),
        "cuGraphGetNodes", subject::graph(handle_), at);
  return count;
}

std::vector<graph_node> graph_ref::roots(call_site at) const {
  constexpr const char* call = "cuGraphGetRootNodes";
  CUgraph_st* const handle = require_open(*this, call, at);
  return nodes_from(
      detail::list_nodes(handle, call, &detail::driver_table::cuGraphGetRootNodes, at), *this);
}

std::vector<graph_edge> graph_ref::edges(call_site at) const {
  constexpr const char* call = "cuGraphGetEdges";
  CUgraph_st* const handle = require_open(*this, call, at);
  std::size_t count = 0;
  check(detail::get_edges(handle, nullptr, nullptr, nullptr, &count), call, subject::graph(handle),
        at);
  std::vector<abi::CUgraphNode> sources(count);
  std::vector<abi::CUgraphNode> targets(count);
  std::vector<abi::CUgraphEdgeData> data(count);  // zeros, which older drivers do not change
  if (count != 0) {
    check(detail::get_edges(handle, sources.data(), targets.data(), data.data(), &count), call,
          subject::graph(handle), at);
  }
  std::vector<graph_edge> edges;
  edges.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    edges.push_back({graph_node{sources[i], handle}, graph_node{targets[i], handle},
                     detail::to_edge_data(data[i])});
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
    detail::throw_error(
        static_cast<errc>(answer), call, to_string(*this),
        "this graph is not a clone of the node's graph, or the node was added after "
        "cloning; search in a clone made after the node was added",
        at);
  }
  return graph_node{copy, handle};
}

void graph_ref::add_dependencies(std::span<const graph_edge> edges, call_site at) const {
  change_edges(edges, *this, adding_edges, at);
}

void graph_ref::remove_dependencies(std::span<const graph_edge> edges, call_site at) const {
  change_edges(edges, *this, removing_edges, at);
}

graph_node graph_ref::join(dependency_list nodes, call_site at) const {
  if (nodes.size() == 1) {
    detail::require_node_of(*nodes.begin(), require_open(*this, "cuGraphAddNode", at),
                            "cuGraphAddNode", at);
    return *nodes.begin();
  }
  abi::CUgraphNodeParams params{};
  params.type = abi::CU_GRAPH_NODE_TYPE_EMPTY;
  return graph_node{detail::add_node({handle_, nodes}, params, {}, at), handle_};
}

void graph_ref::remove(graph_node node, call_site at) const {
  constexpr const char* call = "cuGraphDestroyNode";
  CUgraph_st* const graph = require_open(*this, call, at);
  detail::require_node_of(node, graph, call, at);
  if (detail::any_capture_active()) detail::throw_if_part_captured(graph, node.get(), call, at);
  if (const abi::CUresult answer = driver().cuGraphDestroyNode(node.get());
      answer != abi::CUDA_SUCCESS) {
    const char* reason = "";
    if (answer == abi::CUDA_ERROR_INVALID_VALUE) reason = detail::no_such_node;
    if (answer == abi::CUDA_ERROR_NOT_SUPPORTED)
      reason =
          "nodes of a graph that allocates or frees memory cannot be removed; build a new "
          "graph";
    if (answer == abi::CUDA_ERROR_ILLEGAL_STATE)
      reason = "the graph is the target of a capture; end the capture first";
    detail::throw_error(static_cast<errc>(answer), call, to_string(node), reason, at);
  }
  detail::release_owners(graph, detail::erase_node_metadata(graph, node.get()));
}

namespace {

// Returns the nodes of the graph. Throws if `node` is none of them: if the caller has not named the
// node's graph, the node may be one of another graph, and a node that weir has not seen may have
// been destroyed.
std::vector<CUgraphNode_st*> list_with(graph_node node, CUgraph_st* graph, const char* call,
                                       call_site at) {
  std::vector<CUgraphNode_st*> all = detail::nodes_of(graph, at);
  if (std::ranges::find(all, node.get()) == all.end()) {
    detail::throw_error(
        errc::invalid_value, call, to_string(graph_ref{graph}),
        to_string(node) +
            " is not a node of this graph, or was destroyed; pass a node of this graph",
        at);
  }
  return all;
}

}  // namespace

void graph_ref::tag(graph_node node, std::string_view name, call_site at) const {
  constexpr const char* call = "weir::graph_ref::tag";
  CUgraph_st* const graph = require_open(*this, call, at);
  detail::require_node_of(node, graph, call, at);
  const bool is_known = node.graph().get() != nullptr && detail::is_known_node(graph, node.get());
  const std::vector<CUgraphNode_st*> listed =
      is_known ? std::vector<CUgraphNode_st*>{} : list_with(node, graph, call, at);
  if (!name.empty()) detail::ensure_metadata(graph, at);
  detail::note_nodes(graph, listed);  // so that the next tag does not list them again
  detail::set_tag(graph, node.get(), name);
}

std::string graph_ref::tag_of(graph_node node, call_site at) const {
  return detail::get_tag(require_open(*this, "weir::graph_ref::tag_of", at), node.get());
}

graph_node graph_ref::find(std::string_view tag, call_site at) const {
  constexpr const char* call = "weir::graph_ref::find";
  CUgraph_st* const graph = require_open(*this, call, at);
  const std::vector<abi::CUgraphNode> found = detail::find_tagged(graph, tag);
  if (found.size() > 1) {
    detail::throw_error(
        errc::invalid_value, call, to_string(*this),
        fmt::format("{} nodes have the tag \"{}\"; give each node its own tag", found.size(), tag),
        at);
  }
  return found.empty() ? graph_node{} : graph_node{found.front(), graph};
}

graph graph_ref::clone(call_site at) const {
  CUgraph_st* const handle = require_open(*this, "cuGraphClone", at);
  abi::CUgraph copy = nullptr;
  if (const abi::CUresult answer = driver().cuGraphClone(&copy, handle);
      answer != abi::CUDA_SUCCESS) {
    detail::fail_clone(answer, *this, at);
  }
  detail::forget_metadata(copy);
  graph created = graph::adopt(copy, at);
  detail::copy_metadata(handle, copy, at);
  return created;
}

}  // namespace weir
