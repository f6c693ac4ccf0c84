// api/graph/node_owners.hpp - owners that graphs keep for the parameters of nodes.
#pragma once

#include "api/core/check.hpp"

#include <weir/detail/keep_alive.hpp>
#include <weir/graph/nodes/graph_node.hpp>

#include <vector>

namespace weir::detail {

// Owners that a graph keeps for parameters of a node. Given up again unless they are kept.
class node_owners {
 public:
  node_owners(CUgraph graph, owner_list owners, call_site at);
  node_owners(const node_owners&) = delete;
  node_owners& operator=(const node_owners&) = delete;
  ~node_owners();

  // They are the node's now; those before are given up.
  void assign_to(CUgraphNode node) noexcept;
  // They are the graph's, for as long as it is there.
  void keep() noexcept { objects_.clear(); }

 private:
  explicit node_owners(CUgraph graph) noexcept : graph_{graph} {}

  CUgraph graph_;
  std::vector<CUuserObject> objects_;
  std::vector<keep_alive*> owned_;  // what they hold
};

// The graph has so many references less.
void release_user_objects(CUgraph graph, const std::vector<CUuserObject>& objects) noexcept;

}  // namespace weir::detail
