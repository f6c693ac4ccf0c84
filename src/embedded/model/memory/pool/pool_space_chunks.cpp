// model/pool_space_chunks.cpp - which parts of a pool's range have memory: chunks provided and, when they lie idle, removed.
#include <algorithm>
#include <new>

#include "embedded/model/memory/pool/pool_space.hpp"

namespace weir::embedded::model {

pool_block* pool_space::find_absent(std::size_t extent, const pool_asker& by, std::size_t& missing) const noexcept {
  pool_block* absent = nullptr;
  std::size_t together = 0;
  missing = 0;
  for (pool_block* block = first_; block != nullptr; block = block->behind) {
    if (block->is == pool_block::state::in_use || !by.may_use(block->free_at)) {
      absent = nullptr;
      together = missing = 0;
      continue;
    }
    if (block->is == pool_block::state::absent) {
      if (absent == nullptr) absent = block;
      const std::size_t wanted = (extent - together + chunk_bytes_ - 1) / chunk_bytes_ * chunk_bytes_;
      missing += std::min(block->extent, wanted);
    }
    together += block->extent;
    if (together >= extent) return absent;
  }
  return nullptr;
}

void pool_space::provide(pool_block& absent, std::size_t bytes) {
  const std::size_t last = (absent.offset + bytes) / chunk_bytes_;
  if (chunks_.size() < last) chunks_.resize(last);
  make_room(bytes);
  if (bytes < absent.extent) {
    pool_block& rest = new_block();
    rest = {.offset = absent.offset + bytes, .extent = absent.extent - bytes, .free_at = absent.free_at};
    join(&rest, absent.behind);
    join(&absent, &rest);
    absent.extent = bytes;
  }
  link(absent);
  absent.is = pool_block::state::free;
  note_first_of_chunks(absent);
  for (std::size_t i = absent.offset / chunk_bytes_; i < last; ++i) chunks_[i].there = true;
  idle_chunks_ += bytes / chunk_bytes_;
}

pool_space::idle_memory pool_space::remove_idle(bool complete_will_do, const engine::timeline* by) noexcept {
  if (idle_chunks_ == 0) return {};
  for (std::size_t i = chunks_.size(); i-- > 0;) {
    engine::point until{};
    if (!may_remove(chunks_[i], complete_will_do, by, until)) continue;
    const std::size_t begin = i * chunk_bytes_;
    const std::size_t end = begin + chunk_bytes_;
    try {
      // What reaches beyond the chunk stays, as far as it does.
      pool_block* block = chunks_[i].first;
      for (pool_block* part = block; part != nullptr && part->offset < end; part = part->behind) forget_record(*part);
      if (block->offset < begin) block = &cut(*block, begin);
      pool_block* last = block;
      while (last->end() < end) last = last->behind;
      if (last->end() > end) cut(*last, end);
      pool_block* const after = last->behind;
      for (pool_block* part = block;; part = part->behind) {
        unlink(*part);
        if (part != block) spare_.push_back(part);
        if (part == last) break;
      }
      block->extent = chunk_bytes_;
      block->is = pool_block::state::absent;
      block->free_at = until;
      join(block, after);
      if (until.line == nullptr) join_absent(*block);
    } catch (const std::bad_alloc&) {
      return {};
    }
    chunks_[i] = {};
    --idle_chunks_;
    return {at_ + begin * pool_spread, chunk_bytes_, until};
  }
  return {};
}

bool pool_space::may_remove(const chunk& of, bool complete_will_do, const engine::timeline* by,
                            engine::point& until) const noexcept {
  if (!of.there || of.in_use != 0) return false;
  const auto end = static_cast<std::size_t>(&of - chunks_.data() + 1) * chunk_bytes_;
  for (const pool_block* block = of.first; block != nullptr && block->offset < end; block = block->behind) {
    const engine::point free_at = block->free_at;
    if (free_at.line == nullptr || free_at.line->is_known_to_host(free_at.count)) continue;
    if (complete_will_do && free_at.reached()) continue;
    if (free_at.line != by) return false;
    until = {free_at.line, std::max(until.count, free_at.count)};
  }
  return true;
}

bool pool_space::is_left_to_work() const noexcept {
  for (const pool_block* block = first_; block != nullptr; block = block->behind) {
    if (block->is == pool_block::state::absent && !block->free_at.reached()) return true;
  }
  return false;
}

// With its neighbours, where these may be used at once as well.
void pool_space::join_absent(pool_block& block) noexcept {
  const auto joins = [](const pool_block* other) {
    return other != nullptr && other->is == pool_block::state::absent && other->free_at.line == nullptr;
  };
  pool_block* all = &block;
  if (joins(all->before)) {
    all = all->before;
    all->extent += block.extent;
    join(all, block.behind);
    spare_.push_back(&block);
  }
  pool_block* const behind = all->behind;
  if (joins(behind)) {
    all->extent += behind->extent;
    join(all, behind->behind);
    spare_.push_back(behind);
  }
}

}  // namespace weir::embedded::model
