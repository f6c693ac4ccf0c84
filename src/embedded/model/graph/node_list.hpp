// SPDX-License-Identifier: Apache-2.0
// model/graph/node_list.hpp - an ordered list of nodes with fast removal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir::embedded::model {

struct graph_node;

// The nodes of a graph, or the dependencies or dependents of a node. Repeated removal from a long
// list takes constant time per node if the list is not read in between. The list then keeps a hash
// map of the nodes' indices, and removed nodes leave null pointers, called holes. The next read
// removes the holes.
//
// Thread safety: none, because even a const member may remove holes. The lock of the graphs guards
// all lists.
class node_list {
 public:
  [[nodiscard]] std::size_t size() const noexcept {
    return nodes_.size() - (pending_erase_ == nullptr ? 0 : pending_erase_->holes);
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  // Returns all nodes, in order.
  [[nodiscard]] const std::vector<graph_node*>& all() const noexcept {
    if (pending_erase_ != nullptr) [[unlikely]]
      compact();
    return nodes_;
  }
  [[nodiscard]] auto begin() const noexcept { return all().begin(); }
  [[nodiscard]] auto end() const noexcept { return all().end(); }
  [[nodiscard]] graph_node* operator[](std::size_t i) const noexcept { return all()[i]; }

  // Reserves memory, so that the next push_back() does not throw. Throws std::bad_alloc.
  void make_room();
  // Reserves memory for `count` nodes in total. Throws std::bad_alloc.
  void reserve(std::size_t count) { nodes_.reserve(count); }

  // Throws std::bad_alloc without adding anything.
  void push_back(graph_node* node) {
    (void)all();
    nodes_.push_back(node);
  }
  // Replaces all nodes. Throws std::bad_alloc.
  void assign(std::span<graph_node* const> nodes) {
    (void)all();
    nodes_.assign(nodes.begin(), nodes.end());
  }
  void clear() noexcept {
    (void)all();
    nodes_.clear();
  }

  // Removes a node; does nothing if the list does not contain it.
  void erase(const graph_node* node) noexcept;

 private:
  // Exists from a removal in a long list to the next read of the list.
  struct pending_erase {
    // The indices of all nodes in the list; empty until the second removal.
    std::unordered_map<const graph_node*, std::uint32_t> indices;
    std::uint32_t holes = 0;
  };

  void search_and_erase(const graph_node* node) noexcept;
  // Fills `indices` unless it is filled already. Returns false if memory runs out.
  [[nodiscard]] bool index_nodes() noexcept;
  void compact() const noexcept;

  mutable std::vector<graph_node*> nodes_;  // null for a hole
  mutable std::unique_ptr<pending_erase> pending_erase_;
};

}  // namespace weir::embedded::model
