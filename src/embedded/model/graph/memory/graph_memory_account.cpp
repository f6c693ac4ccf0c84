// model/graph_memory_account.cpp - pieces of a device taken for graphs, and given back.
#include "embedded/model/graph/memory/graph_memory_account.hpp"

#include <algorithm>

#include "embedded/engine/timeline.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/graph/memory/graph_block.hpp"

namespace weir::embedded::model {

namespace {

std::size_t round_to_chunks(const device& of, std::size_t bytes) noexcept {
  return (bytes + of.chunk() - 1) / of.chunk() * of.chunk();
}

bool is_idle(const graph_block& block) noexcept {
  return block.status == graph_block::state::unused && block.free_at.reached();
}

}  // namespace

std::mutex& graph_memory_account::mutex() noexcept {
  static constinit std::mutex of_all;
  return of_all;
}

bool graph_memory_account::reserve(device& from, std::size_t bytes) noexcept {
  const std::size_t wanted = round_to_chunks(from, bytes);
  if (wanted <= reserved_) return true;
  if (!from.reserve_memory(wanted - reserved_)) return false;
  reserved_ = wanted;
  reserved_high_ = std::max(reserved_high_, reserved_);
  return true;
}

void graph_memory_account::add(graph_block& block) noexcept {
  block.backed = true;
  block.number = backed_.size();
  backed_.push_back(&block);
  used_ += block.extent;
  used_high_ = std::max(used_high_, used_);
}

void graph_memory_account::remove(graph_block& block) noexcept {
  block.backed = false;
  graph_block* const last = backed_.back();
  backed_[block.number] = last;
  last->number = block.number;
  backed_.pop_back();
  used_ -= block.extent;
}

bool graph_memory_account::reserve_from_idle(device& from, std::size_t more) noexcept {
  for (std::size_t i = backed_.size(); i-- > 0;) {
    if (!is_idle(*backed_[i])) continue;
    backed_[i]->drop_pages();
    remove(*backed_[i]);
    if (reserve(from, used_ + more)) return true;
  }
  return false;
}

void graph_memory_account::trim(device& to) noexcept {
  for (std::size_t i = backed_.size(); i-- > 0;) {
    if (!is_idle(*backed_[i])) continue;
    backed_[i]->drop_pages();
    remove(*backed_[i]);
  }
  const std::size_t needed = round_to_chunks(to, used_);
  to.release_memory(reserved_ - needed);
  reserved_ = needed;
}

std::size_t graph_memory_account::used(const device& of) const noexcept {
  return round_to_chunks(of, used_);
}
std::size_t graph_memory_account::used_high(const device& of) const noexcept {
  return round_to_chunks(of, used_high_);
}

}  // namespace weir::embedded::model
