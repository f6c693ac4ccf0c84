// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_metadata.hpp - what weir stores about graphs and their nodes, and for how long.
#pragma once

#include "api/core/amortized_sweep.hpp"
#include "api/graph/graph_parts.hpp"
#include "api/graph/node_metadata.hpp"
#include "api/graph/user_object.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/memory/captured_uses.hpp"
#include "driver/abi.hpp"
#include "driver/table.hpp"
#include "os/forked_child.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

namespace weir::detail {

// The metadata are stored by graph and node handle. A driver reuses handles, so metadata of a
// destroyed graph must not be found for a new graph:
// - weir removes metadata of the handle when it creates a graph, and when it destroys one;
// - a root graph with metadata of its nodes holds a user object whose destructor removes the
//   metadata if other code destroys the graph.
//
// The lock of the metadata is never held during a driver call, because the driver may call that
// destructor during the call.

// Number of graphs with metadata. It is mostly 0, so that a lookup costs one load.
inline constinit std::atomic<int> graph_metadata_count{0};
[[nodiscard]] inline bool any_graph_metadata() noexcept {
  return graph_metadata_count.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}

// Creates the metadata of a graph, and the user object that removes them. Does nothing if the graph
// has both, or is a known part (graph_parts.hpp), whose root has the user object.
void ensure_metadata(abi::CUgraph graph, call_site at);

// Removes the metadata of a graph and of its subgraphs. Called when a graph was just created or is
// about to be destroyed.
void forget_metadata(abi::CUgraph graph) noexcept;

// Copies the tags and call sites of `original` and its child graphs to `copy`. `copy` is a clone of
// `original`, or the graph of a child graph node that was added from `original`.
void copy_metadata(abi::CUgraph original, abi::CUgraph copy, call_site at);

// The parts of a graph by the node that contains them. The bodies of a node are in the order of
// their numbers. Like the other maps here, it takes nodes that were allocated beforehand, so that
// inserting them needs no memory.
using graph_part_map = std::multimap<CUgraphNode, CUgraph>;

// The metadata of one node that has a tag or owners. A graph has many nodes without either, so only
// their call sites are stored (graph_metadata::sites).
struct node_metadata {
  unsigned long long id = 0;       // unique among the metadata of all nodes and graphs
  std::string tag;                 // empty if there is none
  std::vector<kept_owner> owners;  // of the node's parameters
};

// The metadata of one graph.
struct graph_metadata {
  // Unique among the metadata of all nodes and graphs. 0 if the graph has only `captured` and
  // `used`, and no user object that removes the metadata.
  unsigned long long id = 0;
  std::map<CUgraphNode, node_metadata> nodes;
  // The call sites of the nodes that weir has added, in that order. The list may contain nodes that
  // no longer exist. If a node occurs several times, its last entry is valid.
  std::vector<node_call_site> sites;
  CUgraph parent = nullptr;    // the graph that contains this one; null for a root
  CUgraphNode node = nullptr;  // the node of `parent` that contains this graph
  part_kind kind = part_kind::child;
  unsigned conditional_type = 0;    // CUgraphConditionalNodeType of `node`, if this graph is a body
  graph_part_map parts;             // the direct parts of this graph (graph_parts.hpp)
  bool unusable = false;            // see mark_destroyed(); true for root graphs only
  captured_memory_owners captured;  // owners of the memory that captures into this graph allocate
  amortized_sweep sweep_of_used;    // removes memory that has ended from `used`
  used_memory used;                 // memory of weir that nodes of this graph use

  // Returns true if weir added the node to the graph or has metadata of it. weir's own removal of a
  // node erases both; a removal by other code does not. Takes time in proportion to the nodes.
  [[nodiscard]] bool has_node(CUgraphNode searched) const noexcept;

  // The nodes that weir has seen in the graph, so that a look-up takes constant time: those of the
  // first `known_sites` entries of `sites`, and nodes that the driver has listed. weir's own
  // removal of a node erases it here as well.
  std::unordered_set<CUgraphNode> known_nodes;
  std::size_t known_sites = 0;
};

using graph_metadata_map = std::map<CUgraph, graph_metadata>;

// The metadata of all graphs. Accessed through locked_metadata_store and locked_graph_metadata.
struct graph_metadata_store {
  graph_metadata_map graphs;
  unsigned long long last_id = 0;

  // Returns null if the graph has no metadata.
  [[nodiscard]] graph_metadata* find(CUgraph graph) noexcept {
    const auto found = graphs.find(graph);
    return found == graphs.end() ? nullptr : &found->second;
  }
  // Returns true if `part` is registered as a part of that node.
  [[nodiscard]] bool is_part(CUgraph part, CUgraph parent_graph, CUgraphNode node) noexcept {
    const graph_metadata* const existing = find(part);
    return existing != nullptr && existing->parent == parent_graph && existing->node == node;
  }

  // Returns the metadata of the node, created if necessary.
  [[nodiscard]] node_metadata& metadata_of(graph_metadata& owner_metadata, CUgraphNode node);

  // The following functions move metadata to `removed` and allocate no memory. The caller declares
  // `removed` before it locks the store. The metadata, which may be those of many nodes, are then
  // destroyed after the lock is released.

  // Moves the metadata of the graph and of its subgraphs.
  void extract(CUgraph graph, graph_metadata_map& removed) noexcept;
  // Like extract(). Also removes the graph from the parts of its parent graph.
  void erase(CUgraph graph, graph_metadata_map& removed) noexcept;
  // Moves the metadata of the node's parts, and destroys those of the node except its call site.
  // Returns the owners that the graph keeps for the node; the caller releases them.
  std::vector<kept_owner> erase_node(graph_metadata& owner_metadata, CUgraphNode node,
                                     graph_metadata_map& removed) noexcept;

  // Calls visit(metadata) for the graph and its subgraphs.
  template <class Visit>
  void visit_parts(CUgraph graph, const Visit& visit) {
    graph_metadata* const metadata = find(graph);
    if (metadata == nullptr) return;
    visit(*metadata);
    for (const auto& [node, part] : metadata->parts) visit_parts(part, visit);
  }

  // Called before an entry with the id 0 is inserted. From time to time erases those whose memory
  // has ended: no user object removes them if other code destroys the graph.
  void sweep() { sweep_.before_insertion(graphs, has_ended_memory_only); }
  // Erases all entries with the id 0 whose memory has ended.
  void erase_ended() noexcept;

  // Updates graph_metadata_count. Called after the number of graphs with metadata has changed,
  // except by erase() and erase_node(), which call it.
  void update_count() noexcept;

  // Returns the file name in `path` without its folders, as a copy that is never freed.
  [[nodiscard]] const char* intern_file_name(const char* path);

 private:
  [[nodiscard]] static bool has_ended_memory_only(
      const graph_metadata_map::value_type& graph) noexcept;

  amortized_sweep sweep_;
  std::set<std::string> files_;  // file names of call sites
  const char* last_file_ = "";   // the last result of intern_file_name()
};

// Exclusive access to the store. An object must not exist during a driver call, because the driver
// may call a function that needs the lock.
class locked_metadata_store {
 public:
  locked_metadata_store();
  graph_metadata_store* operator->() const noexcept { return &store_; }
  graph_metadata_store& operator*() const noexcept { return store_; }

 private:
  graph_metadata_store& store_;
  std::lock_guard<std::mutex> lock_;
};

// Exclusive access to the metadata of one graph. The conversion to bool returns false if the graph
// has no metadata. While no graph has metadata, nothing is locked. As with locked_metadata_store,
// an object must not exist during a driver call.
class locked_graph_metadata {
 public:
  explicit locked_graph_metadata(CUgraph graph) {
    if (any_graph_metadata()) lock(graph);
  }
  explicit operator bool() const noexcept { return metadata_ != nullptr; }
  graph_metadata* operator->() const noexcept { return metadata_; }
  graph_metadata& operator*() const noexcept { return *metadata_; }
  [[nodiscard]] graph_metadata_store& store() const noexcept { return *store_; }

  // Returns null if the graph or the node has no metadata.
  [[nodiscard]] node_metadata* find_node(CUgraphNode node) const noexcept {
    if (metadata_ == nullptr) return nullptr;
    const auto found = metadata_->nodes.find(node);
    return found == metadata_->nodes.end() ? nullptr : &found->second;
  }

 private:
  void lock(CUgraph graph);

  std::unique_lock<std::mutex> lock_;
  graph_metadata_store* store_ = nullptr;
  graph_metadata* metadata_ = nullptr;
};

// Memory to register `parts` parts of one node. Allocated before the node is added, because the
// driver may refuse to remove the node if memory were exhausted afterwards.
class part_reservation {
 public:
  explicit part_reservation(std::size_t parts);

  // Registers `part` as a part of `node`. Does nothing if it is registered. `parent_graph`, the
  // graph of `node`, must have metadata.
  void add_part(CUgraph part, CUgraph parent_graph, CUgraphNode node, part_kind kind) noexcept;
  // Registers a root graph that the driver has moved into `node` as a child graph. The graph keeps
  // its metadata.
  void add_moved_part(CUgraph part, CUgraph parent_graph, CUgraphNode node) noexcept;

 private:
  void insert(graph_metadata_store& store, CUgraph part, CUgraph parent_graph, CUgraphNode node,
              part_kind kind) noexcept;

  graph_metadata_map entries_;  // one per part; the handles replace the keys, which are any numbers
  graph_part_map part_slots_;   // one per part, for graph_metadata::parts
};

// Removes the metadata of a graph that is about to be destroyed. If the driver refuses to destroy
// the graph, restore() puts the metadata back, except `captured`.
class metadata_removal {
 public:
  explicit metadata_removal(CUgraph graph) noexcept;
  void restore() noexcept;

 private:
  graph_metadata_map removed_;
};

}  // namespace weir::detail
