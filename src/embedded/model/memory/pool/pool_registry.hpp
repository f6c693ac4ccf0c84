// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_registry.hpp - all memory pools, and returning their idle memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"
#include "embedded/model/memory/backing.hpp"

namespace weir::embedded::model {

class device;
class memory_pool;
class stream;
struct pool_location;

// Thread safety: all functions may be called from any thread.
namespace pool_registry {

// Creates a pool. `target_device` is the device of the location, or device 0. Throws
// std::bad_alloc.
[[nodiscard]] abi::CUmemoryPool create(device& target_device, const pool_location& location,
                                       std::size_t max_bytes);

// Returns the pool of a handle, or null.
[[nodiscard]] memory_pool* find(abi::CUmemoryPool handle) noexcept;

// A pool and the number of one of its lifetimes.
struct pool_generation {
  memory_pool* pool;
  std::uint64_t generation;
};

// Like find(), with the generation that the handle belongs to.
[[nodiscard]] pool_generation find_with_generation(abi::CUmemoryPool handle) noexcept;

// Destroys a pool for the program; its allocations stay valid. If it was a device's current pool,
// the device returns to its default pool. Returns false for a default pool and for an invalid
// handle.
bool destroy(abi::CUmemoryPool handle) noexcept;

// Return a device's default pool, and the pool of allocations that name none. Throw std::bad_alloc.
[[nodiscard]] memory_pool& default_pool(device& owner_device);
[[nodiscard]] memory_pool& current_pool(device& owner_device);
[[nodiscard]] pool_generation current_pool_with_generation(device& owner_device);

// Like the functions above, for any location; `target_device` as for create(). The current pool of
// a location other than a device is null once it was destroyed, until another is set. Throw
// std::bad_alloc.
[[nodiscard]] memory_pool* default_pool(device& target_device, const pool_location& location);
[[nodiscard]] memory_pool* current_pool(device& target_device, const pool_location& location);

// Sets the current pool. Returns false for an invalid handle.
bool make_current(device& target_device, const pool_location& location, abi::CUmemoryPool handle);

// after_synchronize() is called by a thread that has waited for work: it returns idle memory above
// the pools' thresholds to the devices. Costs one load if there is none.
void trim_all_to_threshold() noexcept;
inline constinit std::atomic<bool> idle_memory{false};
inline void after_synchronize() noexcept {
  if (idle_memory.load(std::memory_order_relaxed)) trim_all_to_threshold();
}

// Called by a pool that has more idle memory than it should keep.
inline void request_trim() noexcept {
  if (!idle_memory.load(std::memory_order_relaxed))
    idle_memory.store(true, std::memory_order_relaxed);
}

// For a device that has run out of memory: calls memory_pool::release_all_idle() for all its pools,
// and frees memory that graphs do not need.
void release_all_idle(device& owner_device, stream* requesting_stream) noexcept;

// Like device::reserve_memory() and backing::allocate(). If the device has too little memory, they
// call release_all_idle() and try again.
[[nodiscard]] bool reserve_memory(device& target_device, std::size_t bytes) noexcept;
[[nodiscard]] backing allocate_backing(std::size_t extent, device& target_device,
                                       shared_store* store = nullptr) noexcept;

}  // namespace pool_registry

}  // namespace weir::embedded::model
