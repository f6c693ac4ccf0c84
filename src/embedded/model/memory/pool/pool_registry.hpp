// model/pool_registry.hpp - which memory pools there are, and when what they hold idle goes back to
// the devices.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;
class memory_pool;
class stream;
struct pool_location;

// Thread safety: all of it, from any thread.
namespace pool_registry {

// Makes a pool; the device is that of the place, or the first one. Throws std::bad_alloc.
[[nodiscard]] abi::CUmemoryPool create(device& on, const pool_location& location,
                                       std::size_t max_bytes);

// The pool behind a handle; null where there is none.
[[nodiscard]] memory_pool* find(abi::CUmemoryPool handle) noexcept;

// A pool in one of its lives.
struct pool_generation {
  memory_pool* pool;
  std::uint64_t generation;
};

// The same with the life that the handle is of.
[[nodiscard]] pool_generation find_with_generation(abi::CUmemoryPool handle) noexcept;

// The handle of a pool, also of one that is destroyed.
[[nodiscard]] abi::CUmemoryPool handle_of(const memory_pool& pool) noexcept;

// Ends a pool for the program. What was allocated from it lives on; a device whose current pool it
// was goes back to its default pool. False for a default pool, which does not end, and where there
// is none with the handle any more.
bool destroy(abi::CUmemoryPool handle) noexcept;

// A device's own pool, and the one that allocations come from unless they name one. Throw
// std::bad_alloc.
[[nodiscard]] memory_pool& default_pool(device& of);
[[nodiscard]] memory_pool& current_pool(device& of);
[[nodiscard]] pool_generation current_pool_with_generation(device& of);

// The same of any place; the device as for create(). A place that is no device has no current pool
// once that was destroyed, until it is given one: null then. Throw std::bad_alloc.
[[nodiscard]] memory_pool* default_pool(device& on, const pool_location& location);
[[nodiscard]] memory_pool* current_pool(device& on, const pool_location& location);

// False where there is no pool with the handle any more.
bool make_current(device& on, const pool_location& location, abi::CUmemoryPool handle);

// To be called by a thread that has waited for work: what pools hold idle above their thresholds
// goes back to the devices. One load where there is nothing.
void trim_all_to_threshold() noexcept;
inline constinit std::atomic<bool> idle_memory{false};
inline void after_synchronize() noexcept {
  if (idle_memory.load(std::memory_order_relaxed)) trim_all_to_threshold();
}

// Said by a pool that has more than it should keep.
inline void request_trim() noexcept {
  if (!idle_memory.load(std::memory_order_relaxed))
    idle_memory.store(true, std::memory_order_relaxed);
}

// For a device that has run out: memory_pool::release_all_idle() of all its pools, and what graphs
// do not need.
void release_all_idle(device& of, stream* by) noexcept;

}  // namespace pool_registry

}  // namespace weir::embedded::model
