// SPDX-License-Identifier: Apache-2.0
// model/graph/node_list.cpp - removes nodes from long lists.
#include "embedded/model/graph/node_list.hpp"

#include <algorithm>
#include <new>

namespace weir::embedded::model {

namespace {

// From this length on, repeated removals use a hash map. Shorter lists are searched linearly.
constexpr std::size_t long_list = 64;

}  // namespace

void node_list::make_room() {
  if (all().size() == nodes_.capacity())
    nodes_.reserve(std::max<std::size_t>(4, 2 * nodes_.size()));
}

void node_list::compact() const noexcept {
  if (pending_erase_->holes != 0) std::erase(nodes_, nullptr);
  pending_erase_.reset();
}

bool node_list::index_nodes() noexcept {
  auto& indices = pending_erase_->indices;
  if (!indices.empty()) return true;
  try {
    indices.reserve(nodes_.size());
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) indices.emplace(nodes_[i], i);
    return true;
  } catch (const std::bad_alloc&) {
    indices.clear();
    return false;
  }
}

// Removes a node by a linear search. In a long list, also prepares for index_nodes(), which the
// second removal in a row calls. The first removal builds no hash map, because a caller that reads
// the list after each removal would not use it.
void node_list::search_and_erase(const graph_node* node) noexcept {
  std::erase(nodes_, node);
  if (nodes_.size() >= long_list && pending_erase_ == nullptr)
    pending_erase_.reset(new (std::nothrow) pending_erase);
}

void node_list::erase(const graph_node* node) noexcept {
  // Keeps the list from having more holes than nodes.
  if (pending_erase_ != nullptr && pending_erase_->holes > nodes_.size() / 2) compact();
  if (pending_erase_ == nullptr || !index_nodes()) return search_and_erase(node);
  const auto found = pending_erase_->indices.find(node);
  if (found == pending_erase_->indices.end()) return;
  nodes_[found->second] = nullptr;
  pending_erase_->indices.erase(found);
  ++pending_erase_->holes;
}

}  // namespace weir::embedded::model
