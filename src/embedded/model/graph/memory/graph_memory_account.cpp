// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_memory_account.cpp - reserves chunks of a device for graphs.
#include "embedded/model/graph/memory/graph_memory_account.hpp"

#include <algorithm>

#include "embedded/engine/timeline.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/graph/memory/graph_block.hpp"

namespace weir::embedded::model {

namespace {

std::size_t round_to_chunks(const device& owner_device, std::size_t bytes) noexcept {
  return (bytes + owner_device.chunk() - 1) / owner_device.chunk() * owner_device.chunk();
}

bool is_idle(const graph_block& block) noexcept {
  return block.status == graph_block::state::unused && block.free_at.reached();
}

}  // namespace

std::mutex& graph_memory_account::mutex() noexcept {
  static constinit std::mutex accounts_mutex;
  return accounts_mutex;
}

bool graph_memory_account::reserve(device& source_device, std::size_t bytes) noexcept {
  const std::size_t requested = round_to_chunks(source_device, bytes);
  if (requested <= reserved_) return true;
  if (!source_device.reserve_memory(requested - reserved_)) return false;
  reserved_ = requested;
  reserved_high_ = std::max(reserved_high_, reserved_);
  return true;
}

void graph_memory_account::add(graph_block& block) noexcept {
  block.backed = true;
  block.backed_index = backed_.size();
  backed_.push_back(&block);
  used_ += block.extent;
  used_high_ = std::max(used_high_, used_);
}

void graph_memory_account::remove(graph_block& block) noexcept {
  block.backed = false;
  graph_block* const last = backed_.back();
  backed_[block.backed_index] = last;
  last->backed_index = block.backed_index;
  backed_.pop_back();
  used_ -= block.extent;
}

bool graph_memory_account::reserve_from_idle(device& source_device, std::size_t more) noexcept {
  for (std::size_t i = backed_.size(); i-- > 0;) {
    if (!is_idle(*backed_[i])) continue;
    backed_[i]->drop_pages();
    remove(*backed_[i]);
    if (reserve(source_device, used_ + more)) return true;
  }
  return false;
}

void graph_memory_account::trim(device& target_device) noexcept {
  for (std::size_t i = backed_.size(); i-- > 0;) {
    if (!is_idle(*backed_[i])) continue;
    backed_[i]->drop_pages();
    remove(*backed_[i]);
  }
  const std::size_t needed = round_to_chunks(target_device, used_);
  target_device.release_memory(reserved_ - needed);
  reserved_ = needed;
}

std::size_t graph_memory_account::used(const device& owner_device) const noexcept {
  return round_to_chunks(owner_device, used_);
}
std::size_t graph_memory_account::used_high(const device& owner_device) const noexcept {
  return round_to_chunks(owner_device, used_high_);
}

}  // namespace weir::embedded::model
