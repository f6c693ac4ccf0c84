// model/node_list.cpp - taking nodes out of long lists.
#include "embedded/model/graph/node_list.hpp"

#include <algorithm>
#include <new>

namespace weir::embedded::model {

namespace {

// Shorter lists are searched.
constexpr std::size_t long_list = 64;

}  // namespace

void node_list::make_room() {
  if (all().size() == nodes_.capacity()) nodes_.reserve(std::max<std::size_t>(4, 2 * nodes_.size()));
}

void node_list::settle() const noexcept {
  if (taking_out_->holes != 0) std::erase(nodes_, nullptr);
  taking_out_.reset();
}

bool node_list::remember_places() noexcept {
  auto& places = taking_out_->places;
  if (!places.empty()) return true;
  try {
    places.reserve(nodes_.size());
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) places.emplace(nodes_[i], i);
    return true;
  } catch (const std::bad_alloc&) {
    places.clear();
    return false;
  }
}

// Who reads the list after each gains nothing from places: they are remembered from the second one on.
void node_list::search_and_erase(const graph_node* node) noexcept {
  std::erase(nodes_, node);
  if (nodes_.size() >= long_list && taking_out_ == nullptr) taking_out_.reset(new (std::nothrow) taking_out);
}

void node_list::erase(const graph_node* node) noexcept {
  if (taking_out_ != nullptr && taking_out_->holes > nodes_.size() / 2) settle();
  if (taking_out_ == nullptr || !remember_places()) return search_and_erase(node);
  const auto found = taking_out_->places.find(node);
  if (found == taking_out_->places.end()) return;
  nodes_[found->second] = nullptr;
  taking_out_->places.erase(found);
  ++taking_out_->holes;
}

}  // namespace weir::embedded::model
