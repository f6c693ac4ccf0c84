// model/memory_pool.cpp - whose turn it is at a pool's blocks, and where its memory comes from.
#include "embedded/model/memory/pool/memory_pool.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/managed_advice.hpp"
#include "embedded/model/memory/poison.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/stream/stream.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) noexcept {
  return (bytes + unit - 1) / unit * unit;
}

// What a block occupies for so many bytes.
constexpr std::size_t block_extent(std::size_t bytes) noexcept { return round_up(bytes, backing::alignment); }

}  // namespace

void memory_pool::open(device& on, const pool_place& place, std::size_t max_bytes) {
  engine::wait_log::wanted.store(true, std::memory_order_relaxed);
  const std::lock_guard lock{lock_};
  device_.store(&on, std::memory_order_relaxed);
  place_ = place;
  chunk_bytes_ = on.chunk();
  max_bytes_ = round_up(max_bytes, chunk_bytes_);
  threshold_ = 0;
  reserved_ = reserved_high_ = used_ = used_high_ = 0;
  follow_events_ = opportunistic_ = internal_dependencies_ = true;
  destroyed_ = false;
  access_.clear();
}

void memory_pool::end() noexcept {
  const std::lock_guard lock{lock_};
  life_.store(life() + 1, std::memory_order_release);
  destroyed_ = true;
  threshold_ = 0;
}

bool memory_pool::finished() const noexcept {
  const std::lock_guard lock{lock_};
  return destroyed_ && reserved_ == 0 && !space_.is_left_to_work();
}

void memory_pool::close() noexcept {
  const std::lock_guard lock{lock_};
  space_.close();
  range_.drop(sharing.store());
}

CUresult memory_pool::allocate(std::size_t bytes, stream& by, std::uint64_t in_life, CUdeviceptr* out) {
  *out = 0;
  if (bytes == 0) return CUDA_SUCCESS;
  if (bytes > owner().total_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (by.role() != stream_role::non_blocking)
    by.wait({});  // for what the default stream orders: the allocation comes after it, too
  allocation* block = take_free(bytes, by, in_life, false);
  while (block == nullptr) {
    const bool more = grow(block_extent(bytes), by, in_life);
    block = more ? take_free(bytes, by, in_life, true) : take_pending(bytes, by, in_life);
    if (block == nullptr && life() != in_life) return CUDA_ERROR_INVALID_VALUE;
    if (block == nullptr && !more) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = block->start();
  return CUDA_SUCCESS;
}

bool memory_pool::free(allocation& record, std::uintptr_t address, engine::point until) {
  const std::lock_guard lock{lock_};
  if (record.pool != this || record.start() != address || !record.holds(address)) return false;
  space_.give(*record.block, until);  // the last that may throw
  if (place_.is_managed()) managed_advice::forget(record);
  const std::size_t bytes = record.close();
  sharing.withdraw(record);
  if (until.line != nullptr) used_ -= bytes;                   // an H200 does not count what the host frees at once
  const bool forbid_later = exact_blocks && !until.reached();  // by whoever waits for that
  if (exact_blocks && !forbid_later) forbid(reinterpret_cast<void*>(address), bytes);
  if (forbid_later || (reserved_ > threshold_ && space_.has_idle())) pool_registry::expect_idle_memory();
  return true;
}

pool_asker memory_pool::asker(const stream& by, bool takes_all) const noexcept {
  using takes = pool_asker::takes;
  return {by.line(), follow_events_, takes_all ? takes::all : opportunistic_ ? takes::complete : takes::known};
}

pool_block* memory_pool::find(std::size_t extent, const pool_asker& by) noexcept {
  pool_block* found = space_.find(extent, by);
  return found != nullptr ? found : space_.find_adjoining(extent, by);
}

// Makes a block that was taken live.
void memory_pool::give_out(pool_block& block, std::size_t bytes) noexcept {
  used_ += bytes;
  used_high_ = std::max(used_high_, used_);
  allocation& record = *block.record;
  record.block = &block;
  record.kind = memory_kind::pooled;
  record.on_host = place_.is_host();
  record.on = &owner();
  record.pool = this;
  record.id = address_map::next_id();
  record.sync_memops.store(place_.is_managed(), std::memory_order_relaxed);
  record.access.store(access_of_devices(), std::memory_order_relaxed);
  permit(reinterpret_cast<void*>(record.start()), bytes);
  record.open(bytes);
}

allocation* memory_pool::take_free(std::size_t bytes, const stream& by, std::uint64_t in_life, bool has_grown) {
  const std::size_t extent = block_extent(bytes);
  const std::lock_guard lock{lock_};
  if (life() != in_life) return nullptr;
  // What was added is not used alone where it was added to something.
  pool_block* block = has_grown ? space_.find_adjoining(extent, asker(by)) : find(extent, asker(by));
  if (block == nullptr) return nullptr;
  space_.take(*block, extent);
  give_out(*block, bytes);
  return block->record;
}

// What is still in use, with the stream made to wait for its end.
allocation* memory_pool::take_pending(std::size_t bytes, stream& by, std::uint64_t in_life) {
  const std::size_t extent = block_extent(bytes);
  std::vector<engine::point> ends;
  pool_block* block = nullptr;
  {
    const std::lock_guard lock{lock_};
    if (!internal_dependencies_ || life() != in_life) return nullptr;
    block = find(extent, asker(by, true));
    if (block == nullptr) return nullptr;
    std::size_t together = 0;
    for (const pool_block* part = block; together < extent; part = part->behind) {
      if (!asker(by).may_use(part->free_at)) ends.push_back(part->free_at);
      together += part->extent;
    }
    space_.take(*block, extent);
    give_out(*block, bytes);
  }
  try {
    for (const engine::point end : ends) by.wait(end);
  } catch (const std::bad_alloc&) {
    // Without memory for the waits, the host waits.
    for (const engine::point end : ends) engine::wait(end);
  }
  return block->record;
}

// Reserves memory for a block. False where the pool's limit or the device's memory is reached, with all idle memory given up.
bool memory_pool::grow(std::size_t extent, stream& by, std::uint64_t in_life) {
  if (grow_if_there(extent, by, in_life)) return true;
  give_up_idle(&by);
  if (grow_if_there(extent, by, in_life)) return true;
  if (is_limited_below(extent, in_life)) return false;
  pool_registry::give_up_idle(owner(), &by);
  return grow_if_there(extent, by, in_life);
}

bool memory_pool::grow_if_there(std::size_t extent, const stream& by, std::uint64_t in_life) {
  const std::lock_guard lock{lock_};
  if (life() != in_life) return false;
  if (!space_.is_open() && !open_space()) return false;
  std::size_t missing = 0;
  pool_block* absent = space_.find_absent(extent, asker(by), missing);
  if (absent == nullptr) return find(extent, asker(by)) != nullptr;
  if (max_bytes_ != 0 && reserved_ + missing > max_bytes_) return false;
  device* const from = accounted_to();
  if (from != nullptr && !from->take(missing)) return false;
  const auto give_up = [&] {
    if (from != nullptr) from->give_back(missing);
  };
  while (missing != 0) {
    auto* const at = reinterpret_cast<std::byte*>(space_.address_of(*absent));
    const std::size_t bytes = std::min(missing, absent->extent);
    if (!range_.use(at, bytes * pool_spread, sharing.store())) {
      give_up();
      return false;
    }
    if (exact_blocks && absent->free_at.reached()) forbid(at, bytes * pool_spread);
    try {
      space_.provide(*absent, bytes);
    } catch (...) {
      give_up();
      throw;
    }
    reserved_ += bytes;
    missing -= bytes;
    while (missing != 0 && absent->is != pool_block::state::absent) absent = absent->behind;
  }
  reserved_high_ = std::max(reserved_high_, reserved_);
  return true;
}

// Twice as many addresses as the device has memory, so that what is in use here and there leaves room for what is large.
bool memory_pool::open_space() {
  const std::size_t wanted = round_up(2 * owner().total_memory(), chunk_bytes_) * pool_spread;
  if (range_.at() == nullptr && !range_.reserve(wanted, chunk_bytes_ * pool_spread)) return false;
  space_.open(range_.at(), range_.bytes() / pool_spread, chunk_bytes_);
  return true;
}

bool memory_pool::is_limited_below(std::size_t more, std::uint64_t in_life) const noexcept {
  const std::lock_guard lock{lock_};
  if (life() != in_life) return true;
  return max_bytes_ != 0 && reserved_ + more > max_bytes_;
}

}  // namespace weir::embedded::model
