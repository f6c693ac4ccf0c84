// model/memory_pool.cpp - the blocks of a pool: how they are given out, taken back and given up.
#include "embedded/model/memory_pool.hpp"

#include <algorithm>
#include <bit>
#include <mutex>

#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/address_map.hpp"
#include "embedded/model/backing.hpp"
#include "embedded/model/device.hpp"
#include "embedded/model/managed_advice.hpp"
#include "embedded/model/pool_registry.hpp"
#include "embedded/model/stream.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// Eight sizes to the power of two, and multiples of the alignment below the first of them.
constexpr std::size_t first_power = 12;
constexpr std::size_t bin_count = 8 + 8 * (47 - first_power);

// What a block of a pool occupies for so many bytes.
constexpr std::size_t block_extent(std::size_t bytes) noexcept {
  const std::size_t extent = backing::extent_of(bytes);
  if (exact_blocks || extent < (std::size_t{1} << first_power)) return extent;
  const std::size_t step = std::bit_floor(extent) / 8;
  return (extent + step - 1) / step * step;
}

// The bin that holds blocks of this extent, and larger ones, but none of the next size.
constexpr std::size_t bin_of(std::size_t extent) noexcept {
  if (extent < (std::size_t{1} << first_power)) return extent / backing::alignment;
  const auto power = static_cast<std::size_t>(std::bit_width(extent)) - 1;
  return 8 + 8 * (power - first_power) + ((extent >> (power - 3)) & 7);
}

// Is a block of the bin of `extent` what is wanted?
bool fits(const allocation& block, std::size_t extent) noexcept { return !exact_blocks || block.extent == extent; }

}  // namespace

void memory_pool::open(device& on, const pool_place& place, std::size_t max_bytes) {
  const std::lock_guard lock{lock_};
  bins_.assign(bin_count, {});
  device_ = &on;
  place_ = place;
  max_bytes_ = max_bytes;
  threshold_ = 0;
  reserved_ = reserved_high_ = used_ = used_high_ = idle_ = 0;
  follow_events_ = opportunistic_ = internal_dependencies_ = true;
  destroyed_ = false;
  access_.clear();
}

void memory_pool::end() noexcept {
  const std::lock_guard lock{lock_};
  destroyed_ = true;
  threshold_ = 0;
}

bool memory_pool::finished() const noexcept {
  const std::lock_guard lock{lock_};
  return destroyed_ && reserved_ == 0;
}

CUresult memory_pool::allocate(std::size_t bytes, stream& by, CUdeviceptr* out) {
  if (bytes == 0) {
    *out = 0;
    return CUDA_SUCCESS;
  }
  if (bytes > device_->total_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  const std::size_t extent = block_extent(bytes);
  allocation* block = nullptr;
  {
    const std::lock_guard lock{lock_};
    block = take(extent, by.line());
    if (block != nullptr) give_out(*block, bytes);
  }
  if (block == nullptr) {
    block = make_block(bytes, by);
    if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    const std::lock_guard lock{lock_};
    give_out(*block, bytes);
  }
  *out = block->start();
  return CUDA_SUCCESS;
}

bool memory_pool::free(allocation& block, std::uintptr_t address, engine::point until) {
  const std::lock_guard lock{lock_};
  if (block.pool != this || block.start() != address || !block.holds(address)) return false;
  if (place_.is_managed()) managed_advice::forget(block);
  push(block, until);
  used_ -= block.close();
  if (reserved_ > threshold_) pool_registry::expect_idle_memory();
  return true;
}

void memory_pool::give_out(allocation& block, std::size_t bytes) noexcept {
  used_ += bytes;
  used_high_ = std::max(used_high_, used_);
  block.id = address_map::next_id();
  block.sync_memops.store(place_.is_managed(), std::memory_order_relaxed);
  block.open(bytes);
}

void memory_pool::push(allocation& block, engine::point until) {
  bin& lists = bins_[bin_of(block.extent)];
  auto list = std::find_if(lists.begin(), lists.end(), [&](const free_list& l) { return l.line == until.line; });
  if (list == lists.end()) list = lists.insert(lists.end(), {until.line, nullptr, nullptr});
  block.free_at = until;
  block.older = list->newest;
  block.newer = nullptr;
  (list->newest != nullptr ? list->newest->newer : list->oldest) = &block;
  list->newest = &block;
  idle_ += block.extent;
}

allocation* memory_pool::unlink(bin& from, std::size_t list, allocation& block) noexcept {
  free_list& links = from[list];
  (block.older != nullptr ? block.older->newer : links.oldest) = block.newer;
  (block.newer != nullptr ? block.newer->older : links.newest) = block.older;
  if (links.oldest == nullptr) {
    links = from.back();
    from.pop_back();
  }
  idle_ -= block.extent;
  return &block;
}

// Of the timeline's own blocks the newest, whose memory is the warmest; of the others the oldest, which was complete
// first.
allocation* memory_pool::take(std::size_t extent, const engine::timeline& by) noexcept {
  bin& lists = bins_[bin_of(extent)];
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].line != &by) continue;
    for (allocation* block = lists[i].newest; block != nullptr; block = block->older) {
      if (fits(*block, extent)) return unlink(lists, i, *block);
    }
  }
  for (std::size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].line != nullptr && !opportunistic_) continue;
    for (allocation* block = lists[i].oldest; block != nullptr && block->free_at.reached(); block = block->newer) {
      if (fits(*block, extent)) return unlink(lists, i, *block);
    }
  }
  return nullptr;
}

allocation* memory_pool::take_pending(std::size_t extent) noexcept {
  bin& lists = bins_[bin_of(extent)];
  for (std::size_t i = 0; i < lists.size(); ++i) {
    for (allocation* block = lists[i].oldest; block != nullptr; block = block->newer) {
      if (fits(*block, extent)) return unlink(lists, i, *block);
    }
  }
  return nullptr;
}

allocation* memory_pool::make_block(std::size_t bytes, stream& by) {
  const std::size_t extent = block_extent(bytes);
  if (allocation* block = make_block_of(extent, by)) return block;
  // What is left may be enough for the bytes, if not for their size of blocks.
  if (const std::size_t least = backing::extent_of(bytes); least != extent) {
    if (allocation* block = make_block_of(least, by)) return block;
  }
  return wait_for_block(extent, by);
}

allocation* memory_pool::make_block_of(std::size_t extent, stream& by) {
  if (!reserve(extent)) {
    give_up_idle(&by);
    if (!reserve(extent)) return nullptr;
  }
  backing memory = backing::obtain(extent, accounted_to(), sharing.store());
  if (!memory) {
    pool_registry::give_up_idle(*device_, &by);
    memory = backing::obtain(extent, accounted_to(), sharing.store());
    if (!memory) {
      unreserve(extent);
      return nullptr;
    }
  }
  allocation* block = nullptr;
  try {
    block = &address_map::instance().add(reinterpret_cast<std::uintptr_t>(memory.get()), extent);
  } catch (...) {
    unreserve(extent);
    throw;
  }
  block->kind = memory_kind::pooled;
  block->on_host = place_.is_host();
  block->on = device_;
  block->pool = this;
  memory.release();
  return block;
}

// A block that is still in use, with the stream made to wait for its end.
allocation* memory_pool::wait_for_block(std::size_t extent, stream& by) {
  allocation* block = nullptr;
  {
    const std::lock_guard lock{lock_};
    if (!internal_dependencies_) return nullptr;
    block = take_pending(extent);
  }
  if (block == nullptr) return nullptr;
  try {
    by.wait(block->free_at);
  } catch (...) {
    const std::lock_guard lock{lock_};
    push(*block, block->free_at);
    throw;
  }
  return block;
}

bool memory_pool::reserve(std::size_t extent) noexcept {
  const std::lock_guard lock{lock_};
  if (max_bytes_ != 0 && reserved_ + extent > max_bytes_) return false;
  reserved_ += extent;
  reserved_high_ = std::max(reserved_high_, reserved_);
  return true;
}

void memory_pool::unreserve(std::size_t extent) noexcept {
  const std::lock_guard lock{lock_};
  reserved_ -= extent;
}

void memory_pool::trim(std::size_t keep) noexcept { release(collect_idle(keep, nullptr), nullptr); }

bool memory_pool::settle() noexcept {
  std::size_t threshold;
  {
    const std::lock_guard lock{lock_};
    if (reserved_ <= threshold_ || idle_ == 0) return false;
    threshold = threshold_;
  }
  trim(threshold);
  const std::lock_guard lock{lock_};
  return reserved_ > threshold_ && idle_ != 0;
}

void memory_pool::give_up_idle(stream* by) noexcept {
  release(collect_idle(0, by != nullptr ? &by->line() : nullptr), by);
}

// Takes idle blocks, oldest first, as long as more than `keep` bytes stay. Gives them as a chain over `older`.
allocation* memory_pool::collect_idle(std::size_t keep, const engine::timeline* by) noexcept {
  const std::lock_guard lock{lock_};
  allocation* chain = nullptr;
  for (bin& lists : bins_) {
    for (std::size_t i = lists.size(); i-- > 0;) {
      const bool in_order = by != nullptr && lists[i].line == by;
      allocation* next = nullptr;
      for (allocation* block = lists[i].oldest; block != nullptr; block = next) {
        if (!in_order && !block->free_at.reached()) break;
        next = block->newer;
        if (reserved_ - block->extent < keep) continue;
        reserved_ -= block->extent;
        unlink(lists, i, *block)->older = chain;
        chain = block;
      }
    }
  }
  return chain;
}

void memory_pool::release(allocation* chain, stream* by) noexcept {
  while (chain != nullptr) {
    allocation& block = *chain;
    chain = block.older;
    auto* at = reinterpret_cast<void*>(block.start());
    const std::size_t extent = block.extent;
    const engine::point until = block.free_at;
    block.pool = nullptr;
    address_map::instance().remove(block);
    if (until.reached()) {
      backing::give_back(at, extent, accounted_to(), sharing.store());
      continue;
    }
    // Its stream still uses it, but the memory counts as free from here on: what the stream allocates next comes later.
    if (accounted_to() != nullptr) device_->give_back(extent);
    try {
      by->submit(engine::make_operation(backing_release{at, extent, nullptr, sharing.store()},
                                        engine::operation_kind::work, true));
    } catch (...) {
      engine::wait(until);
      backing::give_back(at, extent, nullptr, sharing.store());
    }
  }
}

}  // namespace weir::embedded::model
