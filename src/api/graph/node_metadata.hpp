// SPDX-License-Identifier: Apache-2.0
// api/graph/node_metadata.hpp - what weir stores about nodes: tags, call sites, and parameter
// owners.
#pragma once

#include "api/core/check.hpp"
#include "api/graph/user_object.hpp"
#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/detail/keep_alive.hpp>
#include <weir/graph/nodes/graph_node.hpp>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::detail {

// The metadata of nodes are destroyed with the metadata of the graph (graph_metadata.hpp). Nothing
// is stored for a graph without metadata.

// Sets the tag of a node. An empty tag removes it.
void set_tag(abi::CUgraph graph, abi::CUgraphNode node, std::string_view tag);
// Returns the tag of a node; empty if it has none.
[[nodiscard]] std::string get_tag(abi::CUgraph graph, abi::CUgraphNode node);
// Returns the nodes with the tag; none if the tag is empty.
[[nodiscard]] std::vector<abi::CUgraphNode> find_tagged(abi::CUgraph graph, std::string_view tag);
// A copy of all tags of a graph. Nodes of the graph may be removed after the copy was made, and the
// driver may reuse their handles. is_present() detects that.
struct tag_list {
  abi::CUgraph graph = nullptr;
  unsigned long long metadata_id = 0;  // id of the graph's metadata
  unsigned long long last_id = 0;      // newest id of any metadata when the copy was made
  std::vector<std::pair<std::string, abi::CUgraphNode>> tags;
};
[[nodiscard]] tag_list get_tags(abi::CUgraph graph);
// Returns true if the tagged node of the list still exists, as far as weir knows.
[[nodiscard]] bool is_present(const tag_list& list, abi::CUgraphNode node) noexcept;

// Returns true if weir added the node to the graph, has metadata of it, or has noted it with
// note_nodes(), and has not removed it.
[[nodiscard]] bool is_known_node(abi::CUgraph graph, abi::CUgraphNode node);
// Notes nodes that the driver has just listed, so that is_known_node() returns true for them. Does
// nothing if no user object removes the metadata of the graph with it.
void note_nodes(abi::CUgraph graph, std::span<const abi::CUgraphNode> nodes);

// Returns the graph whose metadata lists the node; null if there is none. Searches all graphs, so
// it is used only for messages and while a graph is unusable (graph_parts.hpp).
[[nodiscard]] abi::CUgraph find_graph_of(abi::CUgraphNode node);

// The place in the program that added a node, used in DOT descriptions. `file` is the file name
// without folders. It points to a copy that is never freed, because the library that contains the
// original string may be unloaded.
struct node_call_site {
  abi::CUgraphNode node = nullptr;
  const char* file = "";
  unsigned line = 0;  // 0 if the place is not known
};
// Called before a node is added. Creates the metadata of the graph and makes room for one more call
// site. The caller sets `node` in the result and passes it to add_call_site(), which is noexcept.
[[nodiscard]] node_call_site reserve_call_site(abi::CUgraph graph, call_site at);
// Stores the call site of a new node. Removes the metadata of an earlier node with that handle,
// which other code has removed. Returns the owners that the graph keeps for the earlier node; the
// caller releases them.
[[nodiscard]] std::vector<kept_owner> add_call_site(abi::CUgraph graph,
                                                    const node_call_site& added) noexcept;

// Fills `shares` with new references to the owners that the graph keeps for the node. Elements
// beyond their number stay unchanged.
void get_owners(graph_node node, std::span<keep_alive_ref> shares) noexcept;

// Removes the metadata of a node that was removed from the graph. Returns the owners that the graph
// keeps for the node; the caller releases them.
[[nodiscard]] std::vector<kept_owner> erase_node_metadata(abi::CUgraph graph,
                                                          abi::CUgraphNode node) noexcept;

// Moves references to owners to the graph, before a node is added or changed. The destructor
// releases them from the graph, unless assign_to() or keep() was called after success.
class node_owners {
 public:
  node_owners(CUgraph graph, owner_list owners, call_site at);
  node_owners(const node_owners&) = delete;
  node_owners& operator=(const node_owners&) = delete;
  ~node_owners() { release_owners(graph_, owners_); }

  // Makes the owners the node's owners and releases the node's previous owners.
  void assign_to(CUgraphNode node) noexcept;
  // Leaves the owners to the graph, which keeps them until it is destroyed.
  void keep() noexcept { owners_.clear(); }

 private:
  explicit node_owners(CUgraph graph) noexcept : graph_{graph} {}

  CUgraph graph_;
  std::vector<kept_owner> owners_;
};

}  // namespace weir::detail
