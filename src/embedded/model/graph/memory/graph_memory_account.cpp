// SPDX-License-Identifier: Apache-2.0
// embedded/model/graph/memory/graph_memory_account.cpp - reserves chunks of a device for graphs.
#include "embedded/model/graph/memory/graph_memory_account.hpp"

#include <algorithm>

#include "embedded/engine/timeline.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/graph/memory/graph_block.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

bool is_idle(const graph_block& block) noexcept {
  return block.status == graph_block::state::unused && block.free_at.reached();
}

}  // namespace

std::mutex& graph_memory_account::mutex() noexcept {
  static constinit std::mutex accounts_mutex;
  return accounts_mutex;
}

std::size_t graph_memory_account::round_to_chunks(std::size_t bytes) const noexcept {
  return (bytes + device_.chunk() - 1) / device_.chunk() * device_.chunk();
}

bool graph_memory_account::reserve(std::size_t bytes) noexcept {
  const std::size_t requested = round_to_chunks(bytes);
  if (requested <= reserved_) return true;
  if (!device_.reserve_memory(requested - reserved_)) return false;
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

void graph_memory_account::end(graph_block& block) noexcept {
  remove(block);
  if (block.counts_until_trim) ended_ += block.extent;
}

bool graph_memory_account::reserve_from_idle(std::size_t more) noexcept {
  for (std::size_t i = backed_.size(); i-- > 0;) {
    if (!is_idle(*backed_[i])) continue;
    backed_[i]->drop_pages();
    remove(*backed_[i]);
    if (reserve(used_ + more)) return true;
  }
  return false;
}

void graph_memory_account::trim() noexcept {
  const std::lock_guard lock{mutex()};
  for (std::size_t i = backed_.size(); i-- > 0;) {
    if (!is_idle(*backed_[i])) continue;
    backed_[i]->drop_pages();
    remove(*backed_[i]);
  }
  ended_ = 0;
  const std::size_t needed = round_to_chunks(used_);
  device_.release_memory(reserved_ - needed);
  reserved_ = needed;
}

bool graph_memory_account::get(CUgraphMem_attribute attribute, std::size_t& value) const noexcept {
  const std::lock_guard lock{mutex()};
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT:
      value = std::min(round_to_chunks(used_ + ended_), reserved_);
      return true;
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: value = round_to_chunks(used_high_); return true;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: value = reserved_; return true;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: value = reserved_high_; return true;
  }
  return false;
}

bool graph_memory_account::reset(CUgraphMem_attribute attribute) noexcept {
  const std::lock_guard lock{mutex()};
  switch (attribute) {
    case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: used_high_ = used_; return true;
    case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: reserved_high_ = reserved_; return true;
    default: return false;
  }
}

}  // namespace weir::embedded::model
