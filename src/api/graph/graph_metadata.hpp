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

// The metadata are stored by graph and node handle. A driver reuses handles, so stale metadata must
// not be found under a new handle:
// - a graph that weir creates starts without metadata, and destroying it through weir removes them;
// - a graph with metadata holds a user object that removes them if other code destroys the graph.
// The lock is never held during a driver call, because the driver may call back to destroy that
// object.

// Number of graphs with metadata. It is mostly 0, so that a lookup costs one load.
inline constinit std::atomic<int> graph_metadata_count{0};
[[nodiscard]] inline bool any_graph_metadata() noexcept {
  return graph_metadata_count.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}

// Creates the metadata of a graph that is not part of another, and the user object that removes
// them. Does nothing if they exist.
void ensure_metadata(abi::CUgraph graph, call_site at);

// Removes the metadata of a graph and of its parts. Called for a graph that was just created or is
// about to be destroyed.
void erase_metadata(abi::CUgraph graph) noexcept;
inline void forget_metadata(abi::CUgraph graph) noexcept {
  if (any_graph_metadata()) [[unlikely]] {
    erase_metadata(graph);
  }
}

// Removes the metadata of a graph that is being destroyed. restore() puts them back if that fails.
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

// Copies the tags and call sites of `original` and its child graphs to `copy`, which is a clone or
// the graph of a child graph node.
void copy_metadata(abi::CUgraph original, abi::CUgraph copy, call_site at);

struct node_metadata {
  unsigned long long id = 0;  // unique among the metadata of all nodes and graphs
  std::string tag;
  std::vector<CUuserObject> owners;
  std::vector<keep_alive*> owned;  // the objects that these user objects own
  conditional_metadata conditional;
};

// Nodes of this map can be allocated beforehand, so that inserting them needs no memory.
using node_metadata_map = std::map<CUgraphNode, node_metadata>;

// The metadata of one graph.
struct graph_metadata {
  unsigned long long id = 0;  // unique among the metadata of all nodes and graphs
  node_metadata_map nodes;
  std::vector<node_call_site> sites;  // in the order in which the nodes were added
  CUgraph parent = nullptr;  // the graph and the node that this graph is part of; null for a root
  CUgraphNode node = nullptr;
  part_kind kind = part_kind::child;
  std::list<CUgraph> parts;
  bool unusable = false;  // set for a root graph only
};

using graph_metadata_map = std::map<CUgraph, graph_metadata>;

struct graph_metadata_store {
  graph_metadata_map graphs;
  unsigned long long last_id = 0;

  // Returns null if the graph has no metadata.
  [[nodiscard]] graph_metadata* find(CUgraph graph) noexcept {
    const auto found = graphs.find(graph);
    return found == graphs.end() ? nullptr : &found->second;
  }
  [[nodiscard]] bool is_part(CUgraph part, CUgraph parent_graph, CUgraphNode node) noexcept {
    const graph_metadata* const existing = find(part);
    return existing != nullptr && existing->parent == parent_graph && existing->node == node;
  }

  // Returns the metadata of the node, created if necessary.
  [[nodiscard]] node_metadata& metadata_of(graph_metadata& owner_metadata, CUgraphNode node);

  // Removes the node's metadata except its call site. Returns the user objects that the graph held
  // for the node.
  std::vector<CUuserObject> erase_node(graph_metadata& owner_metadata, CUgraphNode node) noexcept;

  // Moves the metadata of the graph and of its parts to `out`.
  void extract(CUgraph graph, std::vector<graph_metadata_map::node_type>& out);
  // Destroys the metadata of the graph and of its parts. Allocates no memory.
  void erase(CUgraph graph) noexcept;

  // Called after each change of the number of graphs with metadata.
  void update_count() noexcept;

  // Returns a permanent copy of the file name without its folders.
  [[nodiscard]] const char* intern_file_name(const char* path);

 private:
  std::set<std::string, std::less<>> files_;  // file names of call sites
  const char* last_file_ = "";
};

// Exclusive access to the store. Must not be held during a driver call, because the driver may call
// back.
class locked_metadata_store {
 public:
  locked_metadata_store();
  graph_metadata_store* operator->() const noexcept { return &store_; }
  graph_metadata_store& operator*() const noexcept { return store_; }

 private:
  graph_metadata_store& store_;
  std::lock_guard<std::mutex> lock_;
};

// Exclusive access to the metadata of one graph. False if the graph has no metadata. Locks nothing
// while no graph has metadata.
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
