// model/pool_space_chunks.cpp - which parts of a pool's range have memory: chunks provided and,
// when they lie idle, removed.
#include <algorithm>
#include <new>

#include "embedded/model/memory/pool/pool_space.hpp"

namespace weir::embedded::model {

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
      const std::size_t wanted =
          (extent - together + chunk_bytes_ - 1) / chunk_bytes_ * chunk_bytes_;
      missing += std::min(block->extent, wanted);
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
      // What reaches beyond the chunk stays, as far as it does.
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
    return {at_ + begin * block_stride, chunk_bytes_, until};
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

// With its neighbours, where these may be used at once as well.
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
