// SPDX-License-Identifier: Apache-2.0
// api/graph/node_calls.cpp - validates, lists and adds nodes.
#include "api/graph/node_calls.hpp"

#include "api/graph/conditional_bodies.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/memory/captured_uses.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <memory_resource>
#include <vector>

namespace weir::detail {
namespace {

constexpr const char* add_call = "cuGraphAddNode";

using handle_list = std::pmr::vector<CUgraphNode>;

void add_handles(dependency_list nodes, CUgraph graph, handle_list& handles, call_site at) {
  handles.reserve(nodes.size());
  for (const graph_node node : nodes) {
    require_node_of(node, graph, add_call, at);
    handles.push_back(node.get());
  }
}

}  // namespace

CUgraphNode require_open(graph_node node, const char* call, call_site at) {
  require_outside_host_function(call, {}, at);
  if (!node) [[unlikely]] {
    throw_error(errc::invalid_value, call, "no node", "the node is null; pass a node of a graph",
                at);
  }
  if (any_unusable_graph()) [[unlikely]] {
    const CUgraph named_graph = node.graph().get();
    const CUgraph node_graph = named_graph != nullptr ? named_graph : find_graph_of(node.get());
    if (is_unusable(node_graph)) fail_unusable_graph(node_graph, call, at);
  }
  return node.get();
}

void require_node_of(graph_node node, CUgraph graph, const char* call, call_site at) {
  require_open(node, call, at);
  const CUgraph node_graph = node.graph().get();
  if (node_graph == nullptr || node_graph == graph) [[likely]] {
    return;
  }
  throw_error(
      errc::invalid_value, call, to_string(graph_ref{graph}),
      fmt::format("{} is a node of {}; pass a node of this graph (of a clone: find_clone_of())",
                  to_string(node), to_string(graph_ref{node_graph})),
      at);
}

std::vector<CUgraphNode> list_nodes(CUgraph graph, const char* call,
                                    CUresult (*driver_table::*list)(CUgraph, CUgraphNode*,
                                                                    std::size_t*),
                                    call_site at) {
  std::size_t count = 0;
  check((driver().*list)(graph, nullptr, &count), call, subject::graph(graph), at);
  std::vector<CUgraphNode> nodes(count);
  if (count != 0)
    check((driver().*list)(graph, nodes.data(), &count), call, subject::graph(graph), at);
  nodes.resize(count);
  return nodes;
}

CUresult try_add_node(insertion_point point, CUgraphNodeParams& params, owner_list owners,
                      CUgraphNode& created, call_site at) {
  const CUgraph graph = require_open(graph_ref{point.graph}, add_call, at);
  std::array<CUgraphNode, 8> inline_handles;  // so many dependencies need no memory from the heap
  std::pmr::monotonic_buffer_resource memory{inline_handles.data(), sizeof inline_handles};
  handle_list dependencies{&memory};
  add_handles(point.dependencies, graph, dependencies, at);
  throw_if_not_allowed_in_body(graph, static_cast<node_kind>(params.type), at);
  node_owners kept{graph, owners, at};
  node_call_site site = reserve_call_site(graph, at);
  const CUresult answer =
      add_to_graph(created, graph, dependencies.data(), dependencies.size(), params);
  if (answer == CUDA_SUCCESS) {
    // add_call_site() returns the owners of an earlier node with this handle, which other code has
    // removed directly through the driver.
    site.node = created;
    release_owners(graph, add_call_site(graph, site));
    if (owners.size != 0) kept.assign_to(created);
  }
  return answer;
}

CUgraphNode add_node(insertion_point point, CUgraphNodeParams& params, owner_list owners,
                     call_site at) {
  CUgraphNode created = nullptr;
  const CUresult answer = try_add_node(point, params, owners, created, at);
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    const auto kind = static_cast<node_kind>(params.type);
    fail_adding(answer, point, kind, hint_for(kind), at);
  }
  return created;
}

CUgraphNode add_node(insertion_point point, CUgraphNodeParams& params, owner_list owners,
                     const std::vector<region>& memory, call_site at) {
  note_node_memory(point, memory, at);
  return add_node(point, params, owners, at);
}

void note_node_memory(insertion_point point, const std::vector<region>& memory, call_site at) {
  note_graph_memory(require_open(graph_ref{point.graph}, add_call, at), memory);
}

void note_node_memory(graph_node node, const std::vector<region>& memory) {
  const CUgraph graph = node.graph().get();
  if (graph != nullptr) note_graph_memory(graph, memory);
}

}  // namespace weir::detail
