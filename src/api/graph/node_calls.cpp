// api/graph/node_calls.cpp - nodes added to graphs.
#include "api/graph/node_calls.hpp"

#include "api/graph/conditional_bodies.hpp"
#include "api/graph/driver_edges.hpp"
#include "api/graph/node_notes.hpp"

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
    if (size_ > few_.size()) many_.resize(size_);
    CUgraphNode* next = data();
    for (const graph_node node : nodes) {
      expect_node_of(node, graph, add_call, at);
      *next++ = node.get();
    }
  }
  [[nodiscard]] CUgraphNode* data() noexcept { return many_.empty() ? few_.data() : many_.data(); }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::array<CUgraphNode, 8> few_{};
  std::vector<CUgraphNode> many_;
  std::size_t size_;
};

}  // namespace

CUgraphNode usable(graph_node node, const char* call, call_site at) {
  permit(call, {}, at);
  if (!node) [[unlikely]] {
    fail(errc::invalid_value, call, "no node", "name a node of a graph", at);
  }
  if (any_graph_lost()) [[unlikely]] {
    const CUgraph told = node.graph().get();
    const CUgraph of = told != nullptr ? told : noted_graph_of(node.get());
    if (is_lost(of)) fail_lost(of, call, at);
  }
  return node.get();
}

void expect_node_of(graph_node node, CUgraph graph, const char* call, call_site at) {
  usable(node, call, at);
  const CUgraph of = node.graph().get();
  if (of == nullptr || of == graph) [[likely]] {
    return;
  }
  fail(errc::invalid_value, call, to_string(graph_ref{graph}),
       fmt::format("{} is a node of {}; a clone's own is told by find_clone_of()", to_string(node),
                   to_string(graph_ref{of})),
       at);
}

CUresult try_add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params, owner_list owners,
                      CUgraphNode& made, call_site at) {
  const CUgraph graph = usable(graph_ref{to}, add_call, at);
  driver_nodes before{graph, after, at};
  refuse_in_body(graph, static_cast<node_kind>(params.type), at);
  node_owners kept{graph, owners, at};
  node_site site = reserve_site(graph, at);
  const CUresult answer = add_to_graph(made, graph, before.data(), before.size(), params);
  if (answer == CUDA_SUCCESS) {
    site.node = made;
    give_up(graph, note_site(graph, site));  // of one that had this handle, and went past weir
    kept.keep_for(made);
  }
  return answer;
}

CUgraphNode add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params, owner_list owners, call_site at) {
  CUgraphNode made = nullptr;
  const CUresult answer = try_add_node(to, after, params, owners, made, at);
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    const auto kind = static_cast<node_kind>(params.type);
    fail_adding(answer, to, after, kind, advice_on(kind), at);
  }
  return made;
}

}  // namespace weir::detail
