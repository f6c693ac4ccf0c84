// SPDX-License-Identifier: Apache-2.0
// api/graph/node_metadata.hpp - what weir stores about nodes: tags, call sites, and parameter
// owners.
#pragma once

#include "api/core/check.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/nodes/graph_node.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::detail {

// The metadata of nodes are destroyed with the metadata of the graph (graph_metadata.hpp). Nothing
// is stored for a graph without metadata.

// An empty tag means that the node has none.
void set_tag(abi::CUgraph graph, abi::CUgraphNode node, std::string_view tag);
[[nodiscard]] std::string get_tag(abi::CUgraph graph, abi::CUgraphNode node);
struct tag_match {
  abi::CUgraphNode node = nullptr;  // any of them
  std::size_t node_count = 0;
};
[[nodiscard]] tag_match find_tag(abi::CUgraph graph, std::string_view tag);
// All tags of a graph at one point in time. Its nodes may be removed later and their handles
// reused.
struct tag_list {
  abi::CUgraph graph = nullptr;
  unsigned long long metadata_id = 0;  // id of the graph's metadata
  unsigned long long last_id = 0;      // the newest id of any metadata at that time
  std::vector<std::pair<std::string, abi::CUgraphNode>> tags;
};
[[nodiscard]] tag_list get_tags(abi::CUgraph graph);
[[nodiscard]] bool is_present(const tag_list& list, abi::CUgraphNode node) noexcept;

// Returns true if weir added the node to the graph or has metadata of it, and has not removed it.
[[nodiscard]] bool is_known_node(abi::CUgraph graph, abi::CUgraphNode node) noexcept;

// Returns the graph whose metadata lists the node; null if there is none. Used for messages only.
[[nodiscard]] abi::CUgraph find_graph_of(abi::CUgraphNode node);

// The place in the program that added a node, for drawings. `file` has no folders and is a
// permanent copy, because the library that contains the caller's string may be unloaded.
struct node_call_site {
  abi::CUgraphNode node = nullptr;
  const char* file = "";
  unsigned line = 0;
};
// Allocates memory for one more call site before the node is added, and creates the metadata of the
// graph. Pass the result with the new node to set_call_site().
[[nodiscard]] node_call_site reserve_call_site(abi::CUgraph graph, call_site at);
// Stores the call site of a new node. Removes the metadata of an earlier node with that handle and
// returns the user objects that the graph held for it.
[[nodiscard]] std::vector<abi::CUuserObject> set_call_site(abi::CUgraph graph,
                                                           const node_call_site& site) noexcept;
// May contain nodes that no longer exist. If a node occurs several times, the last entry counts.
[[nodiscard]] std::vector<node_call_site> get_call_sites(abi::CUgraph graph);
void add_call_sites(abi::CUgraph graph, const std::vector<node_call_site>& sites);

// Stores the user objects that a graph holds for the parameters of a node, and the objects they
// own. Returns the previous user objects.
[[nodiscard]] std::vector<abi::CUuserObject> set_owners(abi::CUgraph graph, abi::CUgraphNode node,
                                                        std::vector<abi::CUuserObject> owners,
                                                        std::vector<keep_alive*> owned);
// Fills `shares` with references to the objects that the node's user objects own.
void get_owners(graph_node node, std::span<keep_alive_ref> shares) noexcept;

// Removes the metadata of a node that was removed. Returns the user objects that the graph held for
// it.
[[nodiscard]] std::vector<abi::CUuserObject> erase_node_metadata(abi::CUgraph graph,
                                                                 abi::CUgraphNode node) noexcept;

// User objects that a graph holds for the parameters of a node. The destructor releases them unless
// assign_to() or keep() was called.
class node_owners {
 public:
  node_owners(CUgraph graph, owner_list owners, call_site at);
  node_owners(const node_owners&) = delete;
  node_owners& operator=(const node_owners&) = delete;
  ~node_owners();

  // Makes them the node's owners and releases the node's previous ones.
  void assign_to(CUgraphNode node) noexcept;
  // Leaves them to the graph until it is destroyed.
  void keep() noexcept { objects_.clear(); }

 private:
  explicit node_owners(CUgraph graph) noexcept : graph_{graph} {}

  CUgraph graph_;
  std::vector<CUuserObject> objects_;
  std::vector<keep_alive*> owned_;  // the objects they own
};

}  // namespace weir::detail
