// SPDX-License-Identifier: Apache-2.0
// api/graph/node_calls.cpp - adds nodes to graphs.
#include "api/graph/node_calls.hpp"

#include "api/graph/conditional_bodies.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/graph/user_object.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <vector>

namespace weir::detail {
namespace {

constexpr const char* add_call = "cuGraphAddNode";

// A list of nodes as an array for the driver. Up to 8 nodes need no memory from the heap.
class driver_nodes {
 public:
  driver_nodes(CUgraph graph, dependency_list nodes, call_site at) : size_{nodes.size()} {
    if (size_ > inline_nodes_.size()) heap_nodes_.resize(size_);
    CUgraphNode* next = data();
    for (const graph_node node : nodes) {
      require_node_of(node, graph, add_call, at);
      *next++ = node.get();
    }
  }
  [[nodiscard]] CUgraphNode* data() noexcept {
    return heap_nodes_.empty() ? inline_nodes_.data() : heap_nodes_.data();
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::array<CUgraphNode, 8> inline_nodes_{};
  std::vector<CUgraphNode> heap_nodes_;
  std::size_t size_;
};

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

std::vector<CUgraphNode> nodes_of(CUgraph graph, call_site at) {
  constexpr const char* call = "cuGraphGetNodes";
  std::size_t count = 0;
  check(driver().cuGraphGetNodes(graph, nullptr, &count), call, subject::graph(graph), at);
  std::vector<CUgraphNode> nodes(count);
  if (count != 0)
    check(driver().cuGraphGetNodes(graph, nodes.data(), &count), call, subject::graph(graph), at);
  nodes.resize(count);
  return nodes;
}

CUresult try_add_node(CUgraph parent_graph, dependency_list dependencies, CUgraphNodeParams& params,
                      owner_list owners, CUgraphNode& created, call_site at) {
  const CUgraph graph = require_open(graph_ref{parent_graph}, add_call, at);
  driver_nodes dependency_nodes{graph, dependencies, at};
  throw_if_not_allowed_in_body(graph, static_cast<node_kind>(params.type), at);
  node_owners kept{graph, owners, at};
  node_call_site site = reserve_call_site(graph, at);
  const CUresult answer =
      add_to_graph(created, graph, dependency_nodes.data(), dependency_nodes.size(), params);
  if (answer == CUDA_SUCCESS) {
    site.node = created;
    // set_call_site() returns user objects of an earlier node with this handle, which other code
    // has removed directly through the driver.
    release_user_objects(graph, set_call_site(graph, site));
    kept.assign_to(created);
  }
  return answer;
}

CUgraphNode add_node(CUgraph parent_graph, dependency_list dependencies, CUgraphNodeParams& params,
                     owner_list owners, call_site at) {
  CUgraphNode created = nullptr;
  const CUresult answer = try_add_node(parent_graph, dependencies, params, owners, created, at);
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    const auto kind = static_cast<node_kind>(params.type);
    fail_adding(answer, parent_graph, dependencies, kind, hint_for(kind), at);
  }
  return created;
}

}  // namespace weir::detail
