// model/pool_space.cpp - blocks of a pool: found, cut out of others, taken, freed.
#include "embedded/model/memory/pool/pool_space.hpp"

#include <algorithm>
#include <bit>

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
  while (first_ != nullptr) {  // all is absent
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
      if (!by.may_use(block->free_at)) break;  // then none that was freed later
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
  allocation& record = address_map::instance().add(address_of(first), extent * block_stride);
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

// Makes two free blocks of one that has no record; the second begins at the offset.
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

// Lists are in the order of the frees, into which what was left of a block may have to be sorted.
// There is room for one more.
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
    pool_block* made = &blocks_.emplace_back();
    // So that all of them can be put back without an allocation.
    if (spare_.capacity() < blocks_.size()) spare_.reserve(2 * blocks_.size());
    spare_.push_back(made);
  }
  pool_block* block = spare_.back();
  spare_.pop_back();
  return *block;
}

}  // namespace weir::embedded::model
