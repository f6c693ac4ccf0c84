// api/graph/node_calls.cpp - nodes added to graphs.
#include "api/graph/node_calls.hpp"

#include "api/graph/conditional_bodies.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/node_metadata.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <vector>

namespace weir::detail {
namespace {

constexpr const char* add_call = "cuGraphAddNode";

// The nodes of a list as the driver takes them.
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
    throw_error(errc::invalid_value, call, "no node", "name a node of a graph", at);
  }
  if (any_lost_graph()) [[unlikely]] {
    const CUgraph named_graph = node.graph().get();
    const CUgraph of = named_graph != nullptr ? named_graph : find_graph_of(node.get());
    if (is_lost(of)) fail_lost_graph(of, call, at);
  }
  return node.get();
}

void require_node_of(graph_node node, CUgraph graph, const char* call, call_site at) {
  require_open(node, call, at);
  const CUgraph of = node.graph().get();
  if (of == nullptr || of == graph) [[likely]] {
    return;
  }
  throw_error(errc::invalid_value, call, to_string(graph_ref{graph}),
              fmt::format("{} is a node of {}; a clone's own is told by find_clone_of()",
                          to_string(node), to_string(graph_ref{of})),
              at);
}

CUresult try_add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params,
                      owner_list owners, CUgraphNode& created, call_site at) {
  const CUgraph graph = require_open(graph_ref{to}, add_call, at);
  driver_nodes before{graph, after, at};
  throw_if_not_allowed_in_body(graph, static_cast<node_kind>(params.type), at);
  node_owners kept{graph, owners, at};
  node_call_site site = reserve_call_site(graph, at);
  const CUresult answer = add_to_graph(created, graph, before.data(), before.size(), params);
  if (answer == CUDA_SUCCESS) {
    site.node = created;
    release_user_objects(
        graph,
        set_call_site(graph,
                      site));  // of one that had this handle, and went directly through the driver
    kept.assign_to(created);
  }
  return answer;
}

CUgraphNode add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params,
                     owner_list owners, call_site at) {
  CUgraphNode created = nullptr;
  const CUresult answer = try_add_node(to, after, params, owners, created, at);
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    const auto kind = static_cast<node_kind>(params.type);
    fail_adding(answer, to, after, kind, hint_for(kind), at);
  }
  return created;
}

}  // namespace weir::detail
