// SPDX-License-Identifier: Apache-2.0
// model/memory/pool/memory_pool.cpp - allocation, growth, trimming and attributes of memory pools.
#include "embedded/model/memory/pool/memory_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
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

// Returns the bytes that a block of `bytes` bytes occupies.
constexpr std::size_t block_extent(std::size_t bytes) noexcept {
  return round_up(bytes, backing::alignment);
}

}  // namespace

void memory_pool::open(device& target_device, const pool_location& location,
                       std::size_t max_bytes) {
  engine::wait_log::enabled.store(true, std::memory_order_relaxed);
  const std::lock_guard lock{lock_};
  device_.store(&target_device, std::memory_order_relaxed);
  location_ = location;
  chunk_bytes_ = target_device.chunk();
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
  // Orders the allocation with the default stream, like all work of the stream.
  if (by.role() != stream_role::non_blocking) by.wait({});
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
  space_.release_block(*record.block, until);  // the last call that may throw
  if (location_.is_managed()) managed_advice::forget(record);
  const std::size_t bytes = record.close();
  sharing.withdraw(record);
  // As on an H200, frees by the host do not reduce the used memory.
  if (until.line != nullptr) used_ -= bytes;
  // Poisoned by the thread that waits for it.
  const bool poison_later = asan_build && !until.reached();
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

// Makes a block live after its allocation.
void memory_pool::make_live(pool_block& block, std::size_t bytes) noexcept {
  used_ += bytes;
  used_high_ = std::max(used_high_, used_);
  allocation& record = *block.record;
  record.block = &block;
  record.kind = memory_kind::pooled;
  record.on_host = location_.is_host();
  record.memory_device = &owner();
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
  // After growing, searches adjoining blocks first, so that the new memory is joined with the free
  // memory next to it.
  pool_block* block =
      has_grown ? space_.find_adjoining(extent, policy_for(by)) : find(extent, policy_for(by));
  if (block == nullptr) return nullptr;
  space_.take_block(*block, extent);
  make_live(*block, bytes);
  return block->record;
}

// Allocates memory that is still in use, and makes the stream wait until that use is complete.
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
    // Without memory for the stream's waits, the host waits.
    for (const engine::point end : ends) engine::wait(end);
  }
  return block->record;
}

// Reserves memory for a block, returning idle memory first if needed. Returns false if the pool's
// limit or the device's memory is still reached.
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
    if (!range_.commit(at, bytes * redzone_factor, sharing.store())) {
      undo_reserve();
      return false;
    }
    if (asan_build && uncommitted->free_at.reached()) poison(at, bytes * redzone_factor);
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

// Reserves addresses for twice as many bytes as the device has memory, so that scattered blocks
// leave room for large ones. Address sanitizer builds need redzone_factor times as many addresses.
bool memory_pool::open_space() {
  const std::size_t requested = round_up(2 * owner().total_memory(), chunk_bytes_) * redzone_factor;
  if (range_.address() == nullptr && !range_.reserve(requested, chunk_bytes_ * redzone_factor))
    return false;
  space_.open(range_.address(), range_.bytes() / redzone_factor, chunk_bytes_);
  return true;
}

bool memory_pool::would_exceed_limit(std::size_t more,
                                     std::uint64_t expected_generation) const noexcept {
  const std::lock_guard lock{lock_};
  if (generation() != expected_generation) return true;
  return max_bytes_ != 0 && reserved_ + more > max_bytes_;
}

void memory_pool::trim(std::size_t keep) noexcept {
  release_idle(trim_bound::at_least, keep, false, nullptr);
}

bool memory_pool::trim_to_threshold() noexcept {
  std::size_t threshold;
  bool pool_destroyed;
  bool still_used = false;
  {
    const std::lock_guard lock{lock_};
    if (asan_build) still_used = poison_free();
    if (destroyed_ && reserved_ == 0) return space_.has_uncommitted_in_use();
    if (reserved_ <= threshold_ || !space_.has_idle()) return still_used;
    threshold = threshold_;
    pool_destroyed = destroyed_;
  }
  release_idle(trim_bound::at_most, threshold, pool_destroyed, nullptr);
  const std::lock_guard lock{lock_};
  return still_used || (reserved_ > threshold_ && space_.has_idle());
}

// Poisons the free blocks whose use is complete. Returns true if some are still in use.
bool memory_pool::poison_free() const noexcept {
  bool still_used = false;
  space_.for_each_free([&](const pool_block& block) {
    if (block.free_at.reached())
      poison(reinterpret_cast<void*>(space_.address_of(block)), block.extent * redzone_factor);
    else
      still_used = true;
  });
  return still_used;
}

void memory_pool::release_all_idle(stream* by) noexcept {
  release_idle(trim_bound::at_least, 0, true, by);
}

// Returns chunks that no work uses, or only work of the stream `by`.
void memory_pool::release_idle(trim_bound bound, std::size_t bytes, bool complete_will_do,
                               const stream* by) noexcept {
  const std::lock_guard lock{lock_};
  const auto is_above = [&] {
    if (bound == trim_bound::at_most) return reserved_ > bytes;
    return reserved_ >= chunk_bytes_ && reserved_ - chunk_bytes_ >= bytes;
  };
  while (is_above()) {
    const pool_space::idle_memory idle =
        space_.decommit_idle(complete_will_do, by != nullptr ? &by->line() : nullptr);
    if (idle.at == nullptr) return;
    reserved_ -= idle.bytes;
    // Earlier work of the stream may still use the chunk. It ends before the stream's next
    // allocation is used, so the memory counts as free now. Other streams do not get its addresses
    // before that.
    if (charged_device() != nullptr) owner().release_memory(idle.bytes);
    if (idle.until.line == nullptr) {
      poison(idle.at, idle.bytes * redzone_factor);
      range_.decommit(idle.at, idle.bytes * redzone_factor, sharing.store());
    }
  }
}

namespace {

// The caller's variable may be unaligned.
template <class Value>
CUresult write(void* destination, Value value) noexcept {
  std::memcpy(destination, &value, sizeof value);
  return CUDA_SUCCESS;
}

template <class Value>
Value read(const void* from) noexcept {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

}  // namespace

CUresult memory_pool::get(CUmemPool_attribute attribute, void* value) const noexcept {
  const std::lock_guard lock{lock_};
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: return write<int>(value, follow_events_);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: return write<int>(value, opportunistic_);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return write<int>(value, internal_dependencies_);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return write<cuuint64_t>(value, threshold_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return write<cuuint64_t>(value, reserved_);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return write<cuuint64_t>(value, reserved_high_);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return write<cuuint64_t>(value, used_);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return write<cuuint64_t>(value, used_high_);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult memory_pool::set(CUmemPool_attribute attribute, const void* value) noexcept {
  const std::lock_guard lock{lock_};
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      follow_events_ = read<int>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      opportunistic_ = read<int>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      internal_dependencies_ = read<int>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      threshold_ = read<cuuint64_t>(value);
      if (space_.has_idle()) pool_registry::request_trim();
      return CUDA_SUCCESS;
    // The high-water marks can only be reset to the current values.
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (read<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      reserved_high_ = reserved_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (read<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
      used_high_ = used_;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUmemAccess_flags memory_pool::access_of(int user) const noexcept {
  const bool own =
      location_.is_device() ? user == owner().ordinal() : location_.is_host() && user < 0;
  if (own) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const std::lock_guard lock{lock_};
  const auto known =
      std::find_if(access_.begin(), access_.end(), [&](const auto& a) { return a.first == user; });
  return known == access_.end() ? CU_MEM_ACCESS_FLAGS_PROT_NONE : known->second;
}

void memory_pool::set_access(int user, CUmemAccess_flags flags) {
  const std::lock_guard lock{lock_};
  const auto known =
      std::find_if(access_.begin(), access_.end(), [&](const auto& a) { return a.first == user; });
  if (known == access_.end()) {
    access_.emplace_back(user, flags);
  } else {
    known->second = flags;
  }
  const CUmemAccess_flags now = access_of_devices();
  space_.for_each_in_use(
      [&](allocation& memory) { memory.access.store(now, std::memory_order_relaxed); });
}

// Streams get the highest access of any device. Memory of a host pool is accessible only where it
// was granted.
CUmemAccess_flags memory_pool::access_of_devices() const noexcept {
  if (!location_.is_host()) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemAccess_flags maximum = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  for (const auto& [user, flags] : access_) {
    if (user >= 0) maximum = std::max(maximum, flags);
  }
  return maximum;
}

}  // namespace weir::embedded::model
