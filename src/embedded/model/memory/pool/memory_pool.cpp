// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/memory_pool.cpp - allocation, growth and trimming of memory pools.
#include "embedded/model/memory/pool/memory_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <new>

#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/model/core/device.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/backing.hpp"
#include "embedded/model/memory/deferred_operation.hpp"
#include "embedded/model/memory/managed_advice.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"
#include "embedded/model/stream/stream.hpp"
#include "os/pages.hpp"
#include "os/poison.hpp"

namespace weir::embedded::model {

using namespace abi;

namespace {

// Returns the bytes that a block of `bytes` bytes occupies.
constexpr std::size_t block_extent(std::size_t bytes) noexcept {
  return os::round_up(bytes, backing::alignment);
}

}  // namespace

void memory_pool::open(device& target_device, const pool_location& location,
                       std::size_t max_bytes) noexcept {
  // Lets reuse_policy find out for which frees a stream has waited.
  engine::wait_log::enabled.store(true, std::memory_order_relaxed);
  const std::lock_guard lock{lock_};
  device_.store(&target_device, std::memory_order_relaxed);
  location_ = location;
  chunk_bytes_ = target_device.chunk();
  max_bytes_ = os::round_up(max_bytes, chunk_bytes_);
  attributes_ = {};
  destroyed_ = false;
  access_.clear();
}

void memory_pool::end() noexcept {
  const std::lock_guard lock{lock_};
  generation_.store(generation() + 1, std::memory_order_release);
  destroyed_ = true;
  attributes_.release_threshold = 0;
}

bool memory_pool::is_finished() const noexcept {
  const std::lock_guard lock{lock_};
  return destroyed_ && attributes_.reserved == 0 && !space_.has_uncommitted_in_use();
}

void memory_pool::close() noexcept {
  {
    const std::lock_guard lock{lock_};
    space_.close();
    range_.unmap(sharing.store());
  }
  sharing.clear();  // without the spin lock, because it takes a mutex and unmaps memory
}

CUresult memory_pool::allocate(std::size_t bytes, stream& requesting_stream,
                               std::uint64_t expected_generation, CUdeviceptr* out) {
  *out = 0;
  if (bytes == 0) return CUDA_SUCCESS;
  if (bytes > owner_device().total_memory()) return CUDA_ERROR_OUT_OF_MEMORY;
  // Orders the allocation after the work of the legacy default stream, like all work of a blocking
  // stream.
  if (requesting_stream.role() != stream_role::non_blocking) requesting_stream.wait({});
  allocation* block =
      allocate_free(bytes, requesting_stream, expected_generation, block_search::best_fit);
  while (block == nullptr) {
    const bool has_grown = grow(block_extent(bytes), requesting_stream, expected_generation);
    // Searches for adjoining free blocks, because only the new memory and the free memory next to
    // it may together suffice.
    block = has_grown ? allocate_free(bytes, requesting_stream, expected_generation,
                                      block_search::adjoining)
                      : allocate_pending(bytes, requesting_stream, expected_generation);
    if (block == nullptr && generation() != expected_generation) return CUDA_ERROR_INVALID_VALUE;
    if (block == nullptr && !has_grown) return CUDA_ERROR_OUT_OF_MEMORY;
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
  // As on an H200, a free by cuMemFree does not reduce the reported used memory. It has a null
  // point.
  if (until.line != nullptr) attributes_.used -= bytes;
  // If work may still use the block, the thread that waits for that work poisons it
  // (trim_to_threshold()).
  const bool poison_later = os::asan_build && !until.reached();
  if (os::asan_build && !poison_later) os::poison(reinterpret_cast<void*>(address), bytes);
  if (poison_later || has_idle_above_threshold()) pool_registry::request_trim();
  return true;
}

reuse_policy memory_pool::policy_for(const stream& requesting_stream) const noexcept {
  using event_dependencies = reuse_policy::event_dependencies;
  using reuse_level = reuse_policy::reuse_level;
  return {requesting_stream.timeline(),
          attributes_.follows_events ? event_dependencies::follow : event_dependencies::ignore,
          attributes_.opportunistic ? reuse_level::complete : reuse_level::known};
}

pool_block* memory_pool::find(std::size_t extent, const reuse_policy& policy) noexcept {
  pool_block* found = space_.find(extent, policy);
  return found != nullptr ? found : space_.find_adjoining(extent, policy);
}

// Fills in the record of a block that was just taken, and makes the record live.
void memory_pool::make_live(pool_block& block, std::size_t bytes) noexcept {
  attributes_.used += bytes;
  attributes_.used_high = std::max(attributes_.used_high, attributes_.used);
  allocation& record = *block.record;
  record.block = &block;
  record.kind = memory_kind::pooled;
  record.on_host = location_.is_host();
  record.memory_device = &owner_device();
  record.pool = this;
  record.id = address_map::next_id();
  record.sync_memops.store(location_.is_managed(), std::memory_order_relaxed);
  record.access.store(access_of_streams(), std::memory_order_relaxed);
  os::unpoison(reinterpret_cast<void*>(record.start()), bytes);
  record.open(bytes);
}

allocation* memory_pool::allocate_free(std::size_t bytes, const stream& requesting_stream,
                                       std::uint64_t expected_generation, block_search search) {
  const std::size_t extent = block_extent(bytes);
  const std::lock_guard lock{lock_};
  if (generation() != expected_generation) return nullptr;
  const reuse_policy policy = policy_for(requesting_stream);
  pool_block* block = search == block_search::adjoining ? space_.find_adjoining(extent, policy)
                                                        : find(extent, policy);
  if (block == nullptr) return nullptr;
  space_.take_block(*block, extent);
  make_live(*block, bytes);
  return block->record;
}

// Allocates a freed block that work may still use, and makes the stream wait for that work.
allocation* memory_pool::allocate_pending(std::size_t bytes, stream& requesting_stream,
                                          std::uint64_t expected_generation) {
  const std::size_t extent = block_extent(bytes);
  std::vector<engine::point> ends;
  pool_block* block = nullptr;
  {
    const std::lock_guard lock{lock_};
    if (!attributes_.internal_dependencies || generation() != expected_generation) return nullptr;
    block = find(extent, {requesting_stream.timeline(), reuse_policy::event_dependencies::follow,
                          reuse_policy::reuse_level::all});
    if (block == nullptr) return nullptr;
    std::size_t joined_bytes = 0;
    for (const pool_block* part = block; joined_bytes < extent; part = part->next) {
      if (!policy_for(requesting_stream).may_use(part->free_at)) ends.push_back(part->free_at);
      joined_bytes += part->extent;
    }
    space_.take_block(*block, extent);
    make_live(*block, bytes);
  }
  try {
    for (const engine::point end : ends) requesting_stream.wait(end);
  } catch (const std::bad_alloc&) {
    // There is no memory for the stream's waits, so the calling thread waits.
    for (const engine::point end : ends) engine::wait(end);
  }
  return block->record;
}

// Reserves more memory from the device, enough for a block of `extent` bytes. If the limit of the
// pool or of the device is reached, returns idle memory of the pool and then of other pools, and
// tries again. Returns false if that does not suffice.
bool memory_pool::grow(std::size_t extent, stream& requesting_stream,
                       std::uint64_t expected_generation) {
  if (try_grow(extent, requesting_stream, expected_generation)) return true;
  release_all_idle(&requesting_stream);
  if (try_grow(extent, requesting_stream, expected_generation)) return true;
  {
    const std::lock_guard lock{lock_};
    if (would_exceed_limit(extent)) return false;
  }
  pool_registry::release_all_idle(owner_device(), &requesting_stream);
  return try_grow(extent, requesting_stream, expected_generation);
}

// Makes one attempt of grow(). Also returns true if another thread has freed enough memory
// meanwhile.
bool memory_pool::try_grow(std::size_t extent, const stream& requesting_stream,
                           std::uint64_t expected_generation) {
  const std::lock_guard lock{lock_};
  if (generation() != expected_generation) return false;
  if (!space_.is_open() && !open_space()) return false;
  std::size_t missing = 0;
  pool_block* const uncommitted =
      space_.find_uncommitted(extent, policy_for(requesting_stream), missing);
  if (uncommitted == nullptr) return find(extent, policy_for(requesting_stream)) != nullptr;
  if (would_exceed_limit(missing)) return false;
  device* const charged = charged_device();
  if (charged != nullptr && !charged->reserve_memory(missing)) return false;
  const auto release_rest = [&] {
    if (charged != nullptr) charged->release_memory(missing);
  };
  try {
    commit_missing(*uncommitted, missing);
  } catch (...) {
    release_rest();
    throw;
  }
  if (missing == 0) {
    attributes_.reserved_high = std::max(attributes_.reserved_high, attributes_.reserved);
    return true;
  }
  release_rest();
  return false;
}

// Commits the first `missing` bytes of uncommitted chunks, from a block on. Subtracts the bytes
// that it has committed from `missing`. If the system has no memory, `missing` is not 0 at the end.
void memory_pool::commit_missing(pool_block& first_uncommitted, std::size_t& missing) {
  for (pool_block* block = &first_uncommitted; missing != 0; block = block->next) {
    if (block->status != pool_block::state::uncommitted) continue;
    auto* const address = reinterpret_cast<std::byte*>(space_.address_of(*block));
    const std::size_t bytes = std::min(missing, block->extent);
    if (!range_.commit(address, bytes * redzone_factor, sharing.store())) return;
    if (os::asan_build && block->free_at.reached()) os::poison(address, bytes * redzone_factor);
    space_.commit_chunks(*block, bytes);
    attributes_.reserved += bytes;
    missing -= bytes;
  }
}

// Reserves addresses for twice as many bytes as the device has memory. A large block then still
// finds adjacent addresses if small blocks are scattered over the range. Address sanitizer builds
// need redzone_factor times as many addresses.
bool memory_pool::open_space() {
  const std::size_t requested =
      os::round_up(2 * owner_device().total_memory(), chunk_bytes_) * redzone_factor;
  if (range_.address() == nullptr && !range_.reserve(requested, chunk_bytes_ * redzone_factor))
    return false;
  space_.open(range_.address(), range_.bytes() / redzone_factor, chunk_bytes_);
  return true;
}

bool memory_pool::would_exceed_limit(std::size_t additional_bytes) const noexcept {
  return max_bytes_ != 0 && attributes_.reserved + additional_bytes > max_bytes_;
}

bool memory_pool::has_idle_above_threshold() const noexcept {
  return attributes_.reserved > attributes_.release_threshold && space_.has_idle();
}

void memory_pool::trim(std::size_t keep) noexcept {
  using unused_access = pool_range::unused_access;
  const unused_access access = is_work_pending() ? unused_access::refused : unused_access::allowed;
  const std::lock_guard lock{lock_};
  release_idle(keep + chunk_bytes_ - 1, completion::known_to_host, nullptr, access);
}

bool memory_pool::trim_to_threshold() noexcept {
  const std::lock_guard lock{lock_};
  const bool still_used = os::asan_build && poison_free();
  if (destroyed_ && attributes_.reserved == 0) return space_.has_uncommitted_in_use();
  release_idle(attributes_.release_threshold,
               destroyed_ ? completion::reached : completion::known_to_host, nullptr);
  return still_used || has_idle_above_threshold();
}

// Poisons the free blocks that no work uses any more. Returns true if work may still use other free
// blocks.
bool memory_pool::poison_free() const noexcept {
  bool still_used = false;
  space_.for_each(pool_block::state::free, [&](const pool_block& block) {
    if (block.free_at.reached())
      os::poison(reinterpret_cast<void*>(space_.address_of(block)), block.extent * redzone_factor);
    else
      still_used = true;
  });
  return still_used;
}

void memory_pool::release_all_idle(stream* requesting_stream) noexcept {
  const std::lock_guard lock{lock_};
  release_idle(0, completion::reached, requesting_stream);
}

// Returns idle chunks to the device while more than `limit` bytes are reserved. A chunk qualifies
// if no work uses it, or if only work of the requesting stream does.
void memory_pool::release_idle(std::size_t limit, completion required,
                               const stream* requesting_stream,
                               pool_range::unused_access access) noexcept {
  while (attributes_.reserved > limit) {
    const pool_space::idle_memory idle = space_.decommit_idle(
        required, requesting_stream != nullptr ? &requesting_stream->timeline() : nullptr);
    if (idle.address == nullptr) return;
    attributes_.reserved -= idle.bytes;
    // Earlier work of the requesting stream may still use the chunk. That work ends before the
    // stream uses its next allocation, so the memory counts as free now. Other streams get the
    // addresses of the chunk only after that work.
    if (charged_device() != nullptr) owner_device().release_memory(idle.bytes);
    if (idle.until.line == nullptr) {
      os::poison(idle.address, idle.bytes * redzone_factor);
      range_.decommit(idle.address, idle.bytes * redzone_factor, sharing.store(), access);
    }
  }
}

CUresult memory_pool::get(CUmemPool_attribute attribute, void* value) const noexcept {
  const std::lock_guard lock{lock_};
  return attributes_.get(attribute, value);
}

CUresult memory_pool::set(CUmemPool_attribute attribute, const void* value) noexcept {
  const std::lock_guard lock{lock_};
  const CUresult status = attributes_.set(attribute, value);
  if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD && space_.has_idle())
    pool_registry::request_trim();
  return status;
}

CUmemAccess_flags memory_pool::access_of(int user) const noexcept {
  const bool is_own =
      location_.is_device() ? user == owner_device().ordinal() : location_.is_host() && user < 0;
  if (is_own) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const std::lock_guard lock{lock_};
  const auto granted = access_.find(user);
  return granted != access_.end() ? granted->second : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

void memory_pool::set_access(int user, CUmemAccess_flags flags) {
  const std::lock_guard lock{lock_};
  access_[user] = flags;
  const CUmemAccess_flags stream_access = access_of_streams();
  space_.for_each(pool_block::state::in_use, [&](const pool_block& block) {
    block.record->access.store(stream_access, std::memory_order_relaxed);
  });
}

// Returns the access that streams have to the pool's blocks. For a host pool it is the highest
// access that was granted to any device, else it is full access.
CUmemAccess_flags memory_pool::access_of_streams() const noexcept {
  if (!location_.is_host()) return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  CUmemAccess_flags highest = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  for (const auto& [user, flags] : access_) {
    if (user >= 0) highest = std::max(highest, flags);
  }
  return highest;
}

}  // namespace weir::embedded::model
