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
[[nodiscard]] memory_pool& create(device& target_device, const pool_location& location,
                                  std::size_t max_bytes);

// Returns the pool of a handle, or null.
[[nodiscard]] memory_pool* find(abi::CUmemoryPool handle) noexcept;

// A pool and the number of one of its lifetimes.
struct pool_generation {
  memory_pool* pool;
  std::uint64_t generation;
};

// Like find(), but also returns the generation of the pool to which the handle belongs. `pool` is
// null for an invalid handle.
[[nodiscard]] pool_generation find_with_generation(abi::CUmemoryPool handle) noexcept;

// Destroys a pool for the program. Allocations from the pool stay valid. If it was a device's
// current pool, the device returns to its default pool. Returns false for a default pool and for an
// invalid handle.
bool destroy(abi::CUmemoryPool handle) noexcept;

// Returns a device's default pool. Throws std::bad_alloc.
[[nodiscard]] memory_pool& default_pool(device& owner_device);
// Returns a device's current pool, which serves allocations that name no pool. Throws
// std::bad_alloc.
[[nodiscard]] memory_pool& current_pool(device& owner_device);
// Like current_pool(owner_device), but also returns the pool's generation. Throws std::bad_alloc.
[[nodiscard]] pool_generation current_pool_with_generation(device& owner_device);

// Returns the default pool of any location. `target_device` is the device of the location, or
// device 0. Throws std::bad_alloc.
[[nodiscard]] memory_pool* default_pool(device& target_device, const pool_location& location);
// Returns the current pool of any location. Returns null if the program has destroyed the current
// pool of a location other than a device and has not called make_current() since. Throws
// std::bad_alloc.
[[nodiscard]] memory_pool* current_pool(device& target_device, const pool_location& location);

// Sets the current pool of a location. Returns false for an invalid handle. Throws std::bad_alloc.
bool make_current(device& target_device, const pool_location& location, abi::CUmemoryPool handle);

// Returns idle memory above each pool's release threshold to the devices, and frees destroyed pools
// that are finished.
void trim_all_to_threshold() noexcept;
// True if a pool may have memory for trim_all_to_threshold(). Set by request_trim().
inline constinit std::atomic<bool> idle_memory{false};
// Called by a thread that has waited for work on behalf of the program. Costs one load if no pool
// has called request_trim().
inline void after_synchronize() noexcept {
  if (idle_memory.load(std::memory_order_relaxed)) trim_all_to_threshold();
}

// Called by a pool that has idle memory above its release threshold. The next after_synchronize()
// then calls trim_all_to_threshold().
inline void request_trim() noexcept {
  if (!idle_memory.load(std::memory_order_relaxed))
    idle_memory.store(true, std::memory_order_relaxed);
}

// Called if a device has run out of memory: calls memory_pool::release_all_idle() for all pools of
// the device, and graph_memory_account::trim().
void release_all_idle(device& owner_device, stream* requesting_stream) noexcept;

// Like device::reserve_memory(). If the device has too little memory, calls release_all_idle() and
// tries once more.
[[nodiscard]] bool reserve_memory(device& target_device, std::size_t bytes) noexcept;
// Like backing::allocate() with `target_device` as the device that the memory counts against. If
// the device has too little memory, calls release_all_idle() and tries once more.
[[nodiscard]] backing allocate_backing(std::size_t extent, device& target_device,
                                       shared_store* store = nullptr) noexcept;

}  // namespace pool_registry

}  // namespace weir::embedded::model
