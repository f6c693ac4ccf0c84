// model/memory_pool.cpp - whose turn it is at a pool's blocks, and where its memory comes from.
#include "embedded/model/memory/pool/memory_pool.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/backing.hpp"
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
constexpr std::size_t block_extent(std::size_t bytes) noexcept {
  return round_up(bytes, backing::alignment);
}

}  // namespace

void memory_pool::open(device& on, const pool_location& location, std::size_t max_bytes) {
  engine::wait_log::enabled.store(true, std::memory_order_relaxed);
  const std::lock_guard lock{lock_};
  device_.store(&on, std::memory_order_relaxed);
  location_ = location;
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
  generation_.store(generation() + 1, std::memory_order_release);
  destroyed_ = true;
  threshold_ = 0;
}

bool memory_pool::finished() const noexcept {
  const std::lock_guard lock{lock_};
  return destroyed_ && reserved_ == 0 && !space_.has_uncommitted_in_use();
}

void memory_pool::close() noexcept {
  const std::lock_guard lock{lock_};
  space_.close();
  range_.drop(sharing.store());
}

CUresult memory_pool::allocate(std::size_t bytes, stream& by, std::uint64_t expected_generation,
                               CUdeviceptr* out) {
  *out = 0;
  if (bytes == 0) return CUDA_SUCCESS;
  if (bytes > owner().total_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  if (by.role() != stream_role::non_blocking)
    by.wait({});  // for what the default stream orders: the allocation comes after it, too
  allocation* block = allocate_free(bytes, by, expected_generation, false);
  while (block == nullptr) {
    const bool more = grow(block_extent(bytes), by, expected_generation);
    block = more ? allocate_free(bytes, by, expected_generation, true)
                 : allocate_pending(bytes, by, expected_generation);
    if (block == nullptr && generation() != expected_generation) return CUDA_ERROR_INVALID_VALUE;
    if (block == nullptr && !more) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  *out = block->start();
  return CUDA_SUCCESS;
}

bool memory_pool::free(allocation& record, std::uintptr_t address, engine::point until) {
  const std::lock_guard lock{lock_};
  if (record.pool != this || record.start() != address || !record.holds(address)) return false;
  space_.release_block(*record.block, until);  // the last that may throw
  if (location_.is_managed()) managed_advice::forget(record);
  const std::size_t bytes = record.close();
  sharing.withdraw(record);
  if (until.line != nullptr) used_ -= bytes;  // an H200 does not count what the host frees at once
  const bool poison_later = asan_build && !until.reached();  // by whoever waits for that
  if (asan_build && !poison_later) poison(reinterpret_cast<void*>(address), bytes);
  if (poison_later || (reserved_ > threshold_ && space_.has_idle())) pool_registry::request_trim();
  return true;
}

reuse_policy memory_pool::policy_for(const stream& by, bool reuse_all) const noexcept {
  using reuse_level = reuse_policy::reuse_level;
  return {by.line(), follow_events_,
          reuse_all        ? reuse_level::all
          : opportunistic_ ? reuse_level::complete
                           : reuse_level::known};
}

pool_block* memory_pool::find(std::size_t extent, const reuse_policy& by) noexcept {
  pool_block* found = space_.find(extent, by);
  return found != nullptr ? found : space_.find_adjoining(extent, by);
}

// Makes a block that was taken live.
void memory_pool::make_live(pool_block& block, std::size_t bytes) noexcept {
  used_ += bytes;
  used_high_ = std::max(used_high_, used_);
  allocation& record = *block.record;
  record.block = &block;
  record.kind = memory_kind::pooled;
  record.on_host = location_.is_host();
  record.on = &owner();
  record.pool = this;
  record.id = address_map::next_id();
  record.sync_memops.store(location_.is_managed(), std::memory_order_relaxed);
  record.access.store(access_of_devices(), std::memory_order_relaxed);
  unpoison(reinterpret_cast<void*>(record.start()), bytes);
  record.open(bytes);
}

allocation* memory_pool::allocate_free(std::size_t bytes, const stream& by,
                                       std::uint64_t expected_generation, bool has_grown) {
  const std::size_t extent = block_extent(bytes);
  const std::lock_guard lock{lock_};
  if (generation() != expected_generation) return nullptr;
  // What was added is not used alone where it was added to something.
  pool_block* block =
      has_grown ? space_.find_adjoining(extent, policy_for(by)) : find(extent, policy_for(by));
  if (block == nullptr) return nullptr;
  space_.take_block(*block, extent);
  make_live(*block, bytes);
  return block->record;
}

// What is still in use, with the stream made to wait for its end.
allocation* memory_pool::allocate_pending(std::size_t bytes, stream& by,
                                          std::uint64_t expected_generation) {
  const std::size_t extent = block_extent(bytes);
  std::vector<engine::point> ends;
  pool_block* block = nullptr;
  {
    const std::lock_guard lock{lock_};
    if (!internal_dependencies_ || generation() != expected_generation) return nullptr;
    block = find(extent, policy_for(by, true));
    if (block == nullptr) return nullptr;
    std::size_t together = 0;
    for (const pool_block* part = block; together < extent; part = part->next) {
      if (!policy_for(by).may_use(part->free_at)) ends.push_back(part->free_at);
      together += part->extent;
    }
    space_.take_block(*block, extent);
    make_live(*block, bytes);
  }
  try {
    for (const engine::point end : ends) by.wait(end);
  } catch (const std::bad_alloc&) {
    // Without memory for the waits, the host waits.
    for (const engine::point end : ends) engine::wait(end);
  }
  return block->record;
}

// Reserves memory for a block. False where the pool's limit or the device's memory is reached, with
// all idle memory given up.
bool memory_pool::grow(std::size_t extent, stream& by, std::uint64_t expected_generation) {
  if (try_grow(extent, by, expected_generation)) return true;
  release_all_idle(&by);
  if (try_grow(extent, by, expected_generation)) return true;
  if (would_exceed_limit(extent, expected_generation)) return false;
  pool_registry::release_all_idle(owner(), &by);
  return try_grow(extent, by, expected_generation);
}

bool memory_pool::try_grow(std::size_t extent, const stream& by,
                           std::uint64_t expected_generation) {
  const std::lock_guard lock{lock_};
  if (generation() != expected_generation) return false;
  if (!space_.is_open() && !open_space()) return false;
  std::size_t missing = 0;
  pool_block* uncommitted = space_.find_uncommitted(extent, policy_for(by), missing);
  if (uncommitted == nullptr) return find(extent, policy_for(by)) != nullptr;
  if (max_bytes_ != 0 && reserved_ + missing > max_bytes_) return false;
  device* const from = charged_device();
  if (from != nullptr && !from->reserve_memory(missing)) return false;
  const auto undo_reserve = [&] {
    if (from != nullptr) from->release_memory(missing);
  };
  while (missing != 0) {
    auto* const at = reinterpret_cast<std::byte*>(space_.address_of(*uncommitted));
    const std::size_t bytes = std::min(missing, uncommitted->extent);
    if (!range_.commit(at, bytes * block_stride, sharing.store())) {
      undo_reserve();
      return false;
    }
    if (asan_build && uncommitted->free_at.reached()) poison(at, bytes * block_stride);
    try {
      space_.commit_chunks(*uncommitted, bytes);
    } catch (...) {
      undo_reserve();
      throw;
    }
    reserved_ += bytes;
    missing -= bytes;
    while (missing != 0 && uncommitted->status != pool_block::state::uncommitted)
      uncommitted = uncommitted->next;
  }
  reserved_high_ = std::max(reserved_high_, reserved_);
  return true;
}

// Twice as many addresses as the device has memory, so that what is in use here and there leaves
// room for what is large.
bool memory_pool::open_space() {
  const std::size_t wanted = round_up(2 * owner().total_memory(), chunk_bytes_) * block_stride;
  if (range_.at() == nullptr && !range_.reserve(wanted, chunk_bytes_ * block_stride)) return false;
  space_.open(range_.at(), range_.bytes() / block_stride, chunk_bytes_);
  return true;
}

bool memory_pool::would_exceed_limit(std::size_t more,
                                     std::uint64_t expected_generation) const noexcept {
  const std::lock_guard lock{lock_};
  if (generation() != expected_generation) return true;
  return max_bytes_ != 0 && reserved_ + more > max_bytes_;
}

}  // namespace weir::embedded::model
