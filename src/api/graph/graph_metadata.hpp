// SPDX-License-Identifier: Apache-2.0
// api/graph/graph_metadata.hpp - what weir stores about graphs and their nodes, and for how long.
#pragma once

#include "api/graph/graph_parts.hpp"
#include "api/graph/node_metadata.hpp"
#include "driver/abi.hpp"
#include "driver/table.hpp"
#include "os/forked_child.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace weir::detail {

// The metadata are stored by graph and node handle. A driver reuses handles, so metadata of a
// destroyed graph must not be found for a new graph:
// - weir removes metadata of the handle when it creates a graph, and when it destroys one;
// - a root graph with metadata holds a user object whose destructor removes the metadata if other
//   code destroys the graph.
//
// The lock of the metadata is never held during a driver call, because the driver may call that
// destructor during the call.

// Number of graphs with metadata. It is mostly 0, so that a lookup costs one load.
inline constinit std::atomic<int> graph_metadata_count{0};
[[nodiscard]] inline bool any_graph_metadata() noexcept {
  return graph_metadata_count.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}

// Creates the metadata of a root graph (graph_parts.hpp), and the user object that removes them.
// Does nothing if the graph has metadata.
void ensure_metadata(abi::CUgraph graph, call_site at);

// Removes the metadata of a graph and of its subgraphs. Called when a graph was just created or is
// about to be destroyed.
void erase_metadata(abi::CUgraph graph) noexcept;
// Like erase_metadata(). Costs one load while no graph has metadata.
inline void forget_metadata(abi::CUgraph graph) noexcept {
  if (any_graph_metadata()) [[unlikely]] {
    erase_metadata(graph);
  }
}

// Removes the metadata of a graph that is about to be destroyed. If the driver refuses to destroy
// the graph, restore() puts the metadata back.
class metadata_removal {
 public:
  explicit metadata_removal(abi::CUgraph graph) noexcept;
  metadata_removal(const metadata_removal&) = delete;
  metadata_removal& operator=(const metadata_removal&) = delete;
  ~metadata_removal();
  void restore() noexcept;

 private:
  struct removed_metadata;
  removed_metadata* removed_ = nullptr;
};

// Copies the tags and call sites of `original` and its child graphs to `copy`. `copy` is a clone of
// `original`, or the graph of a child graph node that was added from `original`.
void copy_metadata(abi::CUgraph original, abi::CUgraph copy, call_site at);

// The metadata of one node. `owners` are the user objects that the graph holds for the node's
// parameters.
struct node_metadata {
  unsigned long long id = 0;  // unique among the metadata of all nodes and graphs
  std::string tag;
  std::vector<CUuserObject> owners;
  std::vector<keep_alive*> owned;  // the objects that `owners` own
  conditional_metadata conditional;
};

// A std::map, because its nodes can be allocated beforehand. Inserting them then needs no memory.
using node_metadata_map = std::map<CUgraphNode, node_metadata>;

// The metadata of one graph.
struct graph_metadata {
  unsigned long long id = 0;  // unique among the metadata of all nodes and graphs
  node_metadata_map nodes;
  std::vector<node_call_site> sites;  // in the order in which the nodes were added
  CUgraph parent = nullptr;           // the graph that contains this one; null for a root
  CUgraphNode node = nullptr;         // the node of `parent` that contains this graph
  part_kind kind = part_kind::child;
  std::list<CUgraph> parts;  // the direct parts of this graph (graph_parts.hpp)
  bool unusable = false;     // see mark_destroyed(); true for root graphs only
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

  // Removes the node's metadata except its call site, and the metadata of the node's parts. Returns
  // the user objects that the graph holds for the node; the caller releases them.
  std::vector<CUuserObject> erase_node(graph_metadata& owner_metadata, CUgraphNode node) noexcept;

  // Moves the metadata of the graph and of its subgraphs to `out`.
  void extract(CUgraph graph, std::vector<graph_metadata_map::node_type>& out);
  // Destroys the metadata of the graph and of its subgraphs. Allocates no memory.
  void erase(CUgraph graph) noexcept;

  // Updates graph_metadata_count. Called after each change of the number of graphs with metadata.
  void update_count() noexcept;

  // Returns the file name in `path` without its folders, as a copy that is never freed.
  [[nodiscard]] const char* intern_file_name(const char* path);

 private:
  std::set<std::string, std::less<>> files_;  // file names of call sites
  const char* last_file_ = "";                // the last result of intern_file_name()
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

}  // namespace weir::detail
