// api/node_calls.hpp - nodes of graphs as operands of driver calls: added, changed, and why they cannot be.
#pragma once

#include "api/check.hpp"
#include "api/graph_use.hpp"

#include <weir/graph_node.hpp>

#include <string>
#include <vector>

namespace weir::detail {

// The handle to give to the driver: of a node that is one, on a thread where calls are allowed.
CUgraphNode usable(graph_node node, const char* call, call_site at);

// "fill node "scale" 0x55d0c8", as far as the driver and the notes tell.
[[nodiscard]] std::string describe(graph_node node);
[[nodiscard]] const char* name_of(node_kind kind) noexcept;

// What parameters of a kind have to be.
[[nodiscard]] const char* advice_on(node_kind kind) noexcept;

// Throws unless the node is known to be of this graph, or nobody knows.
void expect_node_of(graph_node node, CUgraph graph, const char* call, call_site at);

// Owners that a graph keeps for parameters of a node. Given up again unless they are kept.
class node_owners {
 public:
  node_owners(CUgraph graph, owner_list owners, call_site at);
  node_owners(const node_owners&) = delete;
  node_owners& operator=(const node_owners&) = delete;
  ~node_owners();

  // They are the node's now; those before are given up.
  void keep_for(CUgraphNode node) noexcept;

 private:
  explicit node_owners(CUgraph graph) noexcept : graph_{graph} {}

  CUgraph graph_;
  std::vector<CUuserObject> objects_;
};

// The graph has so many references less.
void give_up(CUgraph graph, const std::vector<CUuserObject>& objects) noexcept;

// Adds the node that `params` describes, with all zero where it says nothing. The first form throws what says why the
// driver refuses it; the second gives its answer, and has refused everything else.
[[nodiscard]] CUgraphNode add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params, owner_list owners,
                                   call_site at);
[[nodiscard]] CUresult try_add_node(CUgraph to, dependency_list after, CUgraphNodeParams& params, owner_list owners,
                                    CUgraphNode& made, call_site at);
[[noreturn, gnu::cold]] void fail_adding(CUresult answer, CUgraph to, dependency_list after, node_kind kind,
                                         std::string reason, call_site at);

// Throws what says why the driver refuses these parameters for the node, of a graph or of an executable.
[[noreturn, gnu::cold]] void fail_setting(CUresult answer, const char* call, graph_node node, node_kind wanted,
                                          call_site at);
[[noreturn, gnu::cold]] void fail_setting_in(CUresult answer, const char* call, CUgraphExec exec, graph_node node,
                                             node_kind wanted, call_site at);

// Changes a node of a graph: set(handle) calls the driver.
template <class Set>
void change_node(graph_node node, node_kind kind, owner_list owners, const char* call, const Set& set, call_site at) {
  const CUgraphNode handle = usable(node, call, at);
  node_owners kept{node.graph().get(), owners, at};
  if (const CUresult answer = set(handle); answer != CUDA_SUCCESS) fail_setting(answer, call, node, kind, at);
  kept.keep_for(handle);
}

inline void check_set_in(CUresult answer, const char* call, CUgraphExec exec, graph_node node, node_kind kind,
                         call_site at) {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    fail_setting_in(answer, call, exec, node, kind, at);
  }
}

// What the driver has of the node: get(handle, params) calls it.
template <class Params, class Get>
[[nodiscard]] Params params_of(graph_node node, const char* call, const Get& get, call_site at) {
  Params params{};
  const CUgraphNode handle = usable(node, call, at);
  if (const CUresult answer = get(handle, &params); answer != CUDA_SUCCESS) {
    fail(static_cast<errc>(answer), call, describe(node), "the node is of another kind, or gone", at);
  }
  return params;
}

}  // namespace weir::detail
