// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_space.cpp - searches, splits, joins, commits and decommits
// blocks.
#include "embedded/model/memory/pool/pool_space.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "embedded/model/memory/address_map.hpp"
#include "os/pages.hpp"

namespace weir::embedded::model {

void pool_space::open(std::byte* address, std::size_t bytes, std::size_t chunk_bytes) {
  pool_block& whole_range = new_block();
  whole_range = {.extent = bytes};
  address_ = address;
  chunk_bytes_ = chunk_bytes;
  first_ = &whole_range;
}

void pool_space::close() noexcept {
  // All blocks are uncommitted, so no record of the address map and no list refers to them.
  while (first_ != nullptr) {
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
                                    const reuse_policy& policy) noexcept {
  constexpr int max_probes = 64;  // in one list
  pool_block* best = nullptr;
  const auto search_list = [&](const free_list& list) {
    int probes = 0;
    for (pool_block* block = list.oldest; block != nullptr && probes < max_probes;
         block = block->newer, ++probes) {
      // The list is in the order of the frees, so the policy does not allow the later blocks
      // either.
      if (!policy.may_use(block->free_at)) break;
      if (block->extent >= extent && (best == nullptr || block->extent < best->extent))
        best = block;
      if (best != nullptr && best->extent == extent) return;
    }
  };
  for (const free_list& list : lists) {
    if (list.line == &policy.line()) search_list(list);
  }
  for (const free_list& list : lists) {
    if (best != nullptr && best->extent == extent) break;
    if (list.line != &policy.line()) search_list(list);
  }
  return best;
}

pool_block* pool_space::find(std::size_t extent, const reuse_policy& policy) const noexcept {
  const std::size_t index = bin_of(extent);
  for (std::size_t word = index / 64; word < filled_.size(); ++word) {
    std::uint64_t bits = filled_[word];
    if (word == index / 64) bits &= ~std::uint64_t{0} << index % 64;
    for (; bits != 0; bits &= bits - 1) {
      const std::size_t next = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      if (pool_block* block = best_fit_in(bins_[next], extent, policy)) return block;
    }
  }
  return nullptr;
}

pool_block* pool_space::find_adjoining(std::size_t extent,
                                       const reuse_policy& policy) const noexcept {
  pool_block* first = nullptr;
  std::size_t joined_bytes = 0;
  for (pool_block* block = first_; block != nullptr; block = block->next) {
    if (block->status != pool_block::state::free || !policy.may_use(block->free_at)) {
      first = nullptr;
      joined_bytes = 0;
      continue;
    }
    if (first == nullptr) first = block;
    joined_bytes += block->extent;
    if (joined_bytes >= extent) return first;
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
  for (chunk& overlapped : chunks_of(first)) {
    if (overlapped.in_use++ == 0) --idle_chunks_;
  }
}

// Joins adjoining free blocks until they have `extent` bytes, and gives exactly these bytes and a
// new record to `first`. The rest of the last block becomes a free block.
void pool_space::split_front(pool_block& first, std::size_t extent) {
  pool_block* last = &first;
  std::size_t joined_bytes = first.extent;
  forget_record(first);
  while (joined_bytes < extent) {
    last = last->next;
    joined_bytes += last->extent;
    forget_record(*last);
  }
  if (joined_bytes > extent) split_at(*last, first.offset + extent);
  allocation& record = address_map::instance().add(address_of(first), extent * redzone_factor);
  join(first, *last);
  first.extent = extent;
  first.record = &record;
  update_chunk_heads(first);
}

// Splits a free block without a record into two free blocks. Returns the second, which begins at
// `offset`.
pool_block& pool_space::split_at(pool_block& block, std::size_t offset) {
  make_room(block.end() - offset);
  make_room(offset - block.offset);
  pool_block& rest = new_block();  // the last call that may throw
  rest = {.offset = offset,
          .extent = block.end() - offset,
          .status = pool_block::state::free,
          .free_at = block.free_at};
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
  for (chunk& overlapped : chunks_of(block)) {
    if (--overlapped.in_use == 0) ++idle_chunks_;
  }
}

// Reserves room for one more list in the bin for blocks of this extent, so that link() cannot
// throw.
void pool_space::make_room(std::size_t extent) {
  bin& lists = bins_[bin_of(extent)];
  if (lists.size() == lists.capacity()) lists.reserve(2 * lists.size() + 1);
}

pool_space::bin::iterator pool_space::find_list(bin& lists, const engine::timeline* line) noexcept {
  return std::ranges::find(lists, line, &free_list::line);
}

// Adds a free block to the list of its timeline and bin, in the order of the frees. The caller has
// called make_room() for the block's extent.
void pool_space::link(pool_block& block) noexcept {
  const std::size_t index = bin_of(block.extent);
  bin& lists = bins_[index];
  engine::timeline* const line = block.free_at.line;
  auto list = find_list(lists, line);
  if (list == lists.end()) list = lists.insert(lists.end(), {line, nullptr, nullptr});
  filled_[index / 64] |= std::uint64_t{1} << index % 64;
  pool_block* predecessor = list->newest;
  while (predecessor != nullptr && predecessor->free_at.count > block.free_at.count)
    predecessor = predecessor->older;
  block.older = predecessor;
  block.newer = predecessor != nullptr ? predecessor->newer : list->oldest;
  (block.older != nullptr ? block.older->newer : list->oldest) = &block;
  (block.newer != nullptr ? block.newer->older : list->newest) = &block;
}

// Removes a free block from its list.
void pool_space::unlink(pool_block& block) noexcept {
  const std::size_t index = bin_of(block.extent);
  bin& lists = bins_[index];
  const auto list = find_list(lists, block.free_at.line);
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

// Removes the record of a block from the address map.
void pool_space::forget_record(pool_block& block) noexcept {
  if (block.record == nullptr) return;
  block.record->pool = nullptr;
  block.record->block = nullptr;
  address_map::instance().remove(*block.record);
  block.record = nullptr;
}

// Returns the chunks that overlap a block with memory.
std::span<pool_space::chunk> pool_space::chunks_of(const pool_block& block) noexcept {
  const std::size_t first = block.offset / chunk_bytes_;
  const std::size_t last = (block.end() - 1) / chunk_bytes_;
  return std::span{chunks_}.subspan(first, last - first + 1);
}

// Sets chunk::first of all chunks whose first byte lies in the block.
void pool_space::update_chunk_heads(pool_block& block) noexcept {
  std::size_t i = os::round_up(block.offset, chunk_bytes_) / chunk_bytes_;
  for (; i < chunks_.size() && i * chunk_bytes_ < block.end(); ++i) chunks_[i].first = &block;
}

pool_block& pool_space::new_block() {
  if (spare_.empty()) {
    pool_block* created = &blocks_.emplace_back();
    // Reserves room for all blocks, so that a later spare_.push_back() does not allocate.
    if (spare_.capacity() < blocks_.size()) spare_.reserve(2 * blocks_.size());
    spare_.push_back(created);
  }
  pool_block* block = spare_.back();
  spare_.pop_back();
  return *block;
}

pool_block* pool_space::find_uncommitted(std::size_t extent, const reuse_policy& policy,
                                         std::size_t& missing) const noexcept {
  pool_block* uncommitted = nullptr;
  std::size_t joined_bytes = 0;
  missing = 0;
  for (pool_block* block = first_; block != nullptr; block = block->next) {
    if (block->status == pool_block::state::in_use || !policy.may_use(block->free_at)) {
      uncommitted = nullptr;
      joined_bytes = missing = 0;
      continue;
    }
    if (block->status == pool_block::state::uncommitted) {
      if (uncommitted == nullptr) uncommitted = block;
      missing += std::min(block->extent, os::round_up(extent - joined_bytes, chunk_bytes_));
    }
    joined_bytes += block->extent;
    if (joined_bytes >= extent) return uncommitted;
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

// Removes the free blocks from `first` to `last` from their lists, and all but `first` from the
// range. The caller sets the new extent of `first`.
void pool_space::join(pool_block& first, pool_block& last) noexcept {
  pool_block* const next = last.next;
  for (pool_block* block = &first;; block = block->next) {
    unlink(*block);
    if (block != &first) spare_.push_back(block);
    if (block == &last) break;
  }
  link_neighbours(&first, next);
}

pool_space::idle_memory pool_space::decommit_idle(completion required,
                                                  const engine::timeline* line) noexcept {
  if (idle_chunks_ == 0) return {};
  for (std::size_t i = chunks_.size(); i-- > 0;) {
    engine::point until{};
    if (!may_decommit(i, required, line, until)) continue;
    try {
      decommit(i, until);
    } catch (const std::bad_alloc&) {
      return {};
    }
    return {address_ + i * chunk_bytes_ * redzone_factor, chunk_bytes_, until};
  }
  return {};
}

// Joins the free blocks of a chunk into one uncommitted block. The parts of these blocks that lie
// outside of the chunk stay free. `until` is the point at which the last use of the chunk ends.
void pool_space::decommit(std::size_t index, engine::point until) {
  const std::size_t begin = index * chunk_bytes_;
  const std::size_t end = begin + chunk_bytes_;
  pool_block* first = chunks_[index].first;
  for (pool_block* part = first; part != nullptr && part->offset < end; part = part->next)
    forget_record(*part);
  if (first->offset < begin) first = &split_at(*first, begin);
  pool_block* last = first;
  while (last->end() < end) last = last->next;
  if (last->end() > end) split_at(*last, end);
  join(*first, *last);
  first->extent = chunk_bytes_;
  first->status = pool_block::state::uncommitted;
  first->free_at = until;
  if (until.line == nullptr) merge_uncommitted(*first);
  chunks_[index] = {};
  --idle_chunks_;
}

// Returns true if decommit_idle() may decommit this chunk. If frees in `line` are not complete,
// stores the last of their points in `until`.
bool pool_space::may_decommit(std::size_t index, completion required, const engine::timeline* line,
                              engine::point& until) const noexcept {
  const chunk& candidate = chunks_[index];
  if (!candidate.committed || candidate.in_use != 0) return false;
  const std::size_t end = (index + 1) * chunk_bytes_;
  for (const pool_block* block = candidate.first; block != nullptr && block->offset < end;
       block = block->next) {
    const engine::point free_at = block->free_at;
    if (free_at.line == nullptr || free_at.line->is_known_to_host(free_at.count)) continue;
    if (required == completion::reached && free_at.reached()) continue;
    if (free_at.line != line) return false;
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

// Merges an uncommitted block with its uncommitted neighbours that no work uses.
void pool_space::merge_uncommitted(pool_block& block) noexcept {
  const auto is_mergeable = [](const pool_block* neighbour) {
    return neighbour != nullptr && neighbour->status == pool_block::state::uncommitted &&
           neighbour->free_at.line == nullptr;
  };
  const auto absorb_next = [&](pool_block& merged) {
    pool_block* const next = merged.next;
    merged.extent += next->extent;
    link_neighbours(&merged, next->next);
    spare_.push_back(next);
  };
  if (is_mergeable(block.next)) absorb_next(block);
  if (is_mergeable(block.previous)) absorb_next(*block.previous);
}

}  // namespace weir::embedded::model
