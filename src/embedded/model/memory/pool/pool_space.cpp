// SPDX-License-Identifier: Apache-2.0
// model/memory/pool/pool_space.cpp - searches, splits,
// allocates, frees, commits and decommits blocks.
#include "embedded/model/memory/pool/pool_space.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "embedded/model/memory/address_map.hpp"

namespace weir::embedded::model {

void pool_space::open(std::byte* at, std::size_t bytes, std::size_t chunk_bytes) {
  pool_block& all = new_block();
  all = {.extent = bytes};
  at_ = at;
  chunk_bytes_ = chunk_bytes;
  first_ = &all;
}

void pool_space::close() noexcept {
  while (first_ != nullptr) {  // all blocks are uncommitted
    spare_.push_back(first_);
    first_ = first_->next;
  }
  chunks_.clear();
}

std::size_t pool_space::bin_of(std::size_t extent) noexcept {
  if (extent < (std::size_t{1} << first_power)) return extent / backing::alignment;
  const auto power = static_cast<std::size_t>(std::bit_width(extent)) - 1;
  return 8 + 8 * (power - first_power) + ((extent >> (power - 3)) & 7);
}

pool_block* pool_space::best_fit_in(const bin& lists, std::size_t extent,
                                    const reuse_policy& by) noexcept {
  constexpr int max_probes = 64;  // in one list
  pool_block* best = nullptr;
  const auto look_through = [&](const free_list& list) {
    int looks = 0;
    for (pool_block* block = list.oldest; block != nullptr && looks < max_probes;
         block = block->newer, ++looks) {
      // Blocks that were freed later may not be used either.
      if (!by.may_use(block->free_at)) break;
      if (block->extent >= extent && (best == nullptr || block->extent < best->extent))
        best = block;
      if (best != nullptr && best->extent == extent) return;
    }
  };
  for (const free_list& list : lists) {
    if (list.line == &by.line()) look_through(list);
  }
  for (const free_list& list : lists) {
    if (best != nullptr && best->extent == extent) break;
    if (list.line != &by.line()) look_through(list);
  }
  return best;
}

pool_block* pool_space::find(std::size_t extent, const reuse_policy& by) const noexcept {
  const std::size_t index = bin_of(extent);
  for (std::size_t word = index / 64; word < filled_.size(); ++word) {
    std::uint64_t bits = filled_[word];
    if (word == index / 64) bits &= ~std::uint64_t{0} << index % 64;
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t next = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (pool_block* block = best_fit_in(bins_[next], extent, by)) return block;
    }
  }
  return nullptr;
}

pool_block* pool_space::find_adjoining(std::size_t extent, const reuse_policy& by) const noexcept {
  pool_block* first = nullptr;
  std::size_t together = 0;
  for (pool_block* block = first_; block != nullptr; block = block->next) {
    if (block->status != pool_block::state::free || !by.may_use(block->free_at)) {
      first = nullptr;
      together = 0;
      continue;
    }
    if (first == nullptr) first = block;
    together += block->extent;
    if (together >= extent) return first;
  }
  return nullptr;
}

void pool_space::take_block(pool_block& first, std::size_t extent) {
  if (first.extent == extent && first.record != nullptr) [[likely]] {
    unlink(first);
  } else {
    split_front(first, extent);
  }
  first.status = pool_block::state::in_use;
  count_use(first, true);
}

void pool_space::split_front(pool_block& first, std::size_t extent) {
  pool_block* last = &first;
  std::size_t together = first.extent;
  forget_record(first);
  while (together < extent) {
    last = last->next;
    together += last->extent;
    forget_record(*last);
  }
  if (together > extent) split_at(*last, first.offset + extent);
  allocation& record = address_map::instance().add(address_of(first), extent * redzone_factor);
  pool_block* const after = last->next;
  for (pool_block* block = &first;; block = block->next) {
    unlink(*block);
    if (block != &first) spare_.push_back(block);
    if (block == last) break;
  }
  first.extent = extent;
  first.record = &record;
  link_neighbours(&first, after);
  update_chunk_heads(first);
}

// Splits a block without a record into two free blocks; the second begins at the offset.
pool_block& pool_space::split_at(pool_block& block, std::size_t offset) {
  pool_block& rest = new_block();
  rest = {.offset = offset,
          .extent = block.end() - offset,
          .status = pool_block::state::free,
          .free_at = block.free_at};
  try {
    make_room(rest.extent);
    make_room(offset - block.offset);
  } catch (...) {
    spare_.push_back(&rest);
    throw;
  }
  link(rest);
  unlink(block);
  block.extent = offset - block.offset;
  link(block);
  link_neighbours(&rest, block.next);
  link_neighbours(&block, &rest);
  update_chunk_heads(rest);
  return rest;
}

void pool_space::release_block(pool_block& block, engine::point until) {
  make_room(block.extent);
  block.free_at = until;
  link(block);
  block.status = pool_block::state::free;
  count_use(block, false);
}

void pool_space::make_room(std::size_t extent) {
  bin& lists = bins_[bin_of(extent)];
  if (lists.size() == lists.capacity()) lists.reserve(2 * lists.size() + 1);
}

// A list is in the order of the frees; the rest of a split block is sorted in. Its bin has room for
// another list.
void pool_space::link(pool_block& block) noexcept {
  const std::size_t index = bin_of(block.extent);
  bin& lists = bins_[index];
  engine::timeline* const line = block.free_at.line;
  auto list =
      std::find_if(lists.begin(), lists.end(), [&](const free_list& l) { return l.line == line; });
  if (list == lists.end()) list = lists.insert(lists.end(), {line, nullptr, nullptr});
  filled_[index / 64] |= std::uint64_t{1} << index % 64;
  pool_block* older = list->newest;
  while (older != nullptr && older->free_at.count > block.free_at.count) older = older->older;
  block.older = older;
  block.newer = older != nullptr ? older->newer : list->oldest;
  (block.older != nullptr ? block.older->newer : list->oldest) = &block;
  (block.newer != nullptr ? block.newer->older : list->newest) = &block;
}

void pool_space::unlink(pool_block& block) noexcept {
  const std::size_t index = bin_of(block.extent);
  bin& lists = bins_[index];
  engine::timeline* const line = block.free_at.line;
  const auto list =
      std::find_if(lists.begin(), lists.end(), [&](const free_list& l) { return l.line == line; });
  (block.older != nullptr ? block.older->newer : list->oldest) = block.newer;
  (block.newer != nullptr ? block.newer->older : list->newest) = block.older;
  if (list->oldest != nullptr) return;
  *list = lists.back();
  lists.pop_back();
  if (lists.empty()) filled_[index / 64] &= ~(std::uint64_t{1} << index % 64);
}

void pool_space::link_neighbours(pool_block* previous, pool_block* next) noexcept {
  previous->next = next;
  if (next != nullptr) next->previous = previous;
}

void pool_space::forget_record(pool_block& block) noexcept {
  if (block.record == nullptr) return;
  block.record->pool = nullptr;
  block.record->block = nullptr;
  address_map::instance().remove(*block.record);
  block.record = nullptr;
}

void pool_space::count_use(const pool_block& block, bool begins) noexcept {
  const std::size_t last = (block.end() - 1) / chunk_bytes_;
  for (std::size_t i = block.offset / chunk_bytes_; i <= last; ++i) {
    if (begins) {
      if (chunks_[i].in_use++ == 0) --idle_chunks_;
    } else if (--chunks_[i].in_use == 0) {
      ++idle_chunks_;
    }
  }
}

void pool_space::update_chunk_heads(pool_block& block) noexcept {
  std::size_t i = (block.offset + chunk_bytes_ - 1) / chunk_bytes_;
  for (; i < chunks_.size() && i * chunk_bytes_ < block.end(); ++i) chunks_[i].first = &block;
}

pool_block& pool_space::new_block() {
  if (spare_.empty()) {
    pool_block* created = &blocks_.emplace_back();
    // Reserves room, so that returning all blocks needs no allocation.
    if (spare_.capacity() < blocks_.size()) spare_.reserve(2 * blocks_.size());
    spare_.push_back(created);
  }
  pool_block* block = spare_.back();
  spare_.pop_back();
  return *block;
}

pool_block* pool_space::find_uncommitted(std::size_t extent, const reuse_policy& by,
                                         std::size_t& missing) const noexcept {
  pool_block* uncommitted = nullptr;
  std::size_t together = 0;
  missing = 0;
  for (pool_block* block = first_; block != nullptr; block = block->next) {
    if (block->status == pool_block::state::in_use || !by.may_use(block->free_at)) {
      uncommitted = nullptr;
      together = missing = 0;
      continue;
    }
    if (block->status == pool_block::state::uncommitted) {
      if (uncommitted == nullptr) uncommitted = block;
      const std::size_t requested =
          (extent - together + chunk_bytes_ - 1) / chunk_bytes_ * chunk_bytes_;
      missing += std::min(block->extent, requested);
    }
    together += block->extent;
    if (together >= extent) return uncommitted;
  }
  return nullptr;
}

void pool_space::commit_chunks(pool_block& uncommitted, std::size_t bytes) {
  const std::size_t last = (uncommitted.offset + bytes) / chunk_bytes_;
  if (chunks_.size() < last) chunks_.resize(last);
  make_room(bytes);
  if (bytes < uncommitted.extent) {
    pool_block& rest = new_block();
    rest = {.offset = uncommitted.offset + bytes,
            .extent = uncommitted.extent - bytes,
            .free_at = uncommitted.free_at};
    link_neighbours(&rest, uncommitted.next);
    link_neighbours(&uncommitted, &rest);
    uncommitted.extent = bytes;
  }
  link(uncommitted);
  uncommitted.status = pool_block::state::free;
  update_chunk_heads(uncommitted);
  for (std::size_t i = uncommitted.offset / chunk_bytes_; i < last; ++i)
    chunks_[i].committed = true;
  idle_chunks_ += bytes / chunk_bytes_;
}

pool_space::idle_memory pool_space::decommit_idle(bool complete_will_do,
                                                  const engine::timeline* by) noexcept {
  if (idle_chunks_ == 0) return {};
  for (std::size_t i = chunks_.size(); i-- > 0;) {
    engine::point until{};
    if (!may_remove(chunks_[i], complete_will_do, by, until)) continue;
    const std::size_t begin = i * chunk_bytes_;
    const std::size_t end = begin + chunk_bytes_;
    try {
      // The parts of blocks outside of the chunk stay free.
      pool_block* block = chunks_[i].first;
      for (pool_block* part = block; part != nullptr && part->offset < end; part = part->next)
        forget_record(*part);
      if (block->offset < begin) block = &split_at(*block, begin);
      pool_block* last = block;
      while (last->end() < end) last = last->next;
      if (last->end() > end) split_at(*last, end);
      pool_block* const after = last->next;
      for (pool_block* part = block;; part = part->next) {
        unlink(*part);
        if (part != block) spare_.push_back(part);
        if (part == last) break;
      }
      block->extent = chunk_bytes_;
      block->status = pool_block::state::uncommitted;
      block->free_at = until;
      link_neighbours(block, after);
      if (until.line == nullptr) merge_uncommitted(*block);
    } catch (const std::bad_alloc&) {
      return {};
    }
    chunks_[i] = {};
    --idle_chunks_;
    return {at_ + begin * redzone_factor, chunk_bytes_, until};
  }
  return {};
}

bool pool_space::may_remove(const chunk& of, bool complete_will_do, const engine::timeline* by,
                            engine::point& until) const noexcept {
  if (!of.committed || of.in_use != 0) return false;
  const auto end = static_cast<std::size_t>(&of - chunks_.data() + 1) * chunk_bytes_;
  for (const pool_block* block = of.first; block != nullptr && block->offset < end;
       block = block->next) {
    const engine::point free_at = block->free_at;
    if (free_at.line == nullptr || free_at.line->is_known_to_host(free_at.count)) continue;
    if (complete_will_do && free_at.reached()) continue;
    if (free_at.line != by) return false;
    until = {free_at.line, std::max(until.count, free_at.count)};
  }
  return true;
}

bool pool_space::has_uncommitted_in_use() const noexcept {
  for (const pool_block* block = first_; block != nullptr; block = block->next) {
    if (block->status == pool_block::state::uncommitted && !block->free_at.reached()) return true;
  }
  return false;
}

// Merges a block with uncommitted neighbours that may be used at once.
void pool_space::merge_uncommitted(pool_block& block) noexcept {
  const auto joins = [](const pool_block* other) {
    return other != nullptr && other->status == pool_block::state::uncommitted &&
           other->free_at.line == nullptr;
  };
  pool_block* all = &block;
  if (joins(all->previous)) {
    all = all->previous;
    all->extent += block.extent;
    link_neighbours(all, block.next);
    spare_.push_back(&block);
  }
  pool_block* const next = all->next;
  if (joins(next)) {
    all->extent += next->extent;
    link_neighbours(all, next->next);
    spare_.push_back(next);
  }
}

}  // namespace weir::embedded::model
