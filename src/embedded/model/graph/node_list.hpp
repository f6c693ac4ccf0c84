// model/node_list.hpp - nodes in the order in which they came, of which any may be taken out soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

namespace weir::embedded::model {

struct graph_node;

// The nodes of a graph, or those before or behind a node. To take nodes out of a long list one by
// one costs the same for each however long it is, as long as nobody reads the list in between:
// places are remembered meanwhile, and what is taken out leaves a hole.
//
// Not locked: reading may close holes, too. Guarded by the lock of the graphs.
class node_list {
 public:
  [[nodiscard]] std::size_t size() const noexcept {
    return nodes_.size() - (pending_erase_ == nullptr ? 0 : pending_erase_->holes);
  }
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }

  // All of them, in order.
  [[nodiscard]] const std::vector<graph_node*>& all() const noexcept {
    if (pending_erase_ != nullptr) [[unlikely]]
      compact();
    return nodes_;
  }
  [[nodiscard]] auto begin() const noexcept { return all().begin(); }
  [[nodiscard]] auto end() const noexcept { return all().end(); }
  [[nodiscard]] graph_node* operator[](std::size_t i) const noexcept { return all()[i]; }

  // The next push_back() does not throw: this does.
  void make_room();
  void reserve(std::size_t count) { nodes_.reserve(count); }

  // Throws std::bad_alloc, and then nothing was added.
  void push_back(graph_node* node) {
    (void)all();
    nodes_.push_back(node);
  }
  // The same for all of them, in place of what was there.
  void assign(std::span<graph_node* const> nodes) {
    (void)all();
    nodes_.assign(nodes.begin(), nodes.end());
  }
  void clear() noexcept {
    (void)all();
    nodes_.clear();
  }

  void erase(const graph_node* node) noexcept;

 private:
  // What is remembered from when a node is taken out of a long list to when the list is read.
  struct pending_erase {
    std::unordered_map<const graph_node*, std::uint32_t>
        indices;  // of all that are there; empty until it is worth it
    std::uint32_t holes = 0;
  };

  void search_and_erase(const graph_node* node) noexcept;
  [[nodiscard]] bool index_nodes() noexcept;
  void compact() const noexcept;

  mutable std::vector<graph_node*> nodes_;  // null: a hole
  mutable std::unique_ptr<pending_erase> pending_erase_;
};

}  // namespace weir::embedded::model
