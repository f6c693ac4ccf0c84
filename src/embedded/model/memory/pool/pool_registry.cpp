// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_registry.cpp - the table of pools, and default and current pools.
#include "embedded/model/memory/pool/pool_registry.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/handle_table.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"

namespace weir::embedded::model::pool_registry {

using namespace abi;

namespace {

// The pools of a location other than a device.
struct location_pools {
  pool_location location;
  memory_pool* default_pool;
  memory_pool* current;
};

struct registry {
  handle_table<memory_pool, handle_kind::pool> handles;
  std::mutex mutex;  // guards the members below, and the creation of default pools
  // The pools that have or may get memory, including destroyed ones until they are empty.
  std::vector<memory_pool*> pools;
  std::vector<location_pools> locations;  // guarded by mutex
};

registry& registered() noexcept {
  // Never destroyed, because destructors of static objects may still free memory.
  static registry& created = *new registry;
  return created;
}

// Creates a pool. The caller holds registry::mutex.
memory_pool& make_pool(device& target_device, const pool_location& location,
                       std::size_t max_bytes) {
  registered().pools.reserve(registered().pools.size() + 1);
  memory_pool* pool = registered().handles.acquire();
  pool->open(target_device, location, max_bytes);
  registered().pools.push_back(pool);
  pool->set_handle(static_cast<CUmemoryPool>(registered().handles.publish(pool)));
  return *pool;
}

// Returns the pools of a location other than a device. The first call for a location creates its
// default pool. The caller holds registry::mutex.
location_pools& pools_of(device& target_device, const pool_location& location) {
  for (location_pools& pools : registered().locations) {
    if (pools.location == location) return pools;
  }
  registered().locations.reserve(registered().locations.size() + 1);
  memory_pool& created = make_pool(target_device, location, 0);
  registered().locations.push_back({location, &created, &created});
  return registered().locations.back();
}

// Returns true for the default pool of a device or location, which cannot be destroyed. The caller
// holds registry::mutex.
bool is_default_pool(const memory_pool& pool) noexcept {
  return &pool == pool.owner_device().default_pool.load(std::memory_order_acquire) ||
         std::ranges::any_of(registered().locations, [&](const location_pools& pools) {
           return pools.default_pool == &pool;
         });
}

// Ends the use of a pool as current pool of a location. A device returns to its default pool; any
// other location then has no current pool. The caller holds registry::mutex.
void remove_from_locations(memory_pool& pool) noexcept {
  for (location_pools& pools : registered().locations) {
    if (pools.current == &pool) pools.current = nullptr;
  }
  device& target_device = pool.owner_device();
  memory_pool* expected = &pool;
  target_device.current_pool.compare_exchange_strong(
      expected, target_device.default_pool.load(std::memory_order_acquire),
      std::memory_order_acq_rel);
}

}  // namespace

memory_pool& create(device& target_device, const pool_location& location, std::size_t max_bytes) {
  const std::lock_guard lock{registered().mutex};
  return make_pool(target_device, location, max_bytes);
}

memory_pool* find(CUmemoryPool handle) noexcept { return registered().handles.find(handle); }

pool_generation find_with_generation(CUmemoryPool handle) noexcept {
  memory_pool* const found = find(handle);
  if (found == nullptr) return {};
  const std::uint64_t generation = found->generation();
  // The second find() detects that another thread destroyed the pool before generation() was read.
  return find(handle) == found ? pool_generation{found, generation} : pool_generation{};
}

bool destroy(CUmemoryPool handle) noexcept {
  {
    const std::lock_guard lock{registered().mutex};
    memory_pool* const pool = find(handle);
    if (pool == nullptr || is_default_pool(*pool)) return false;
    (void)registered().handles.retire(pool, handle);
    remove_from_locations(*pool);
    pool->end();
  }
  trim_all_to_threshold();
  return true;
}

memory_pool& default_pool(device& owner_device) {
  if (memory_pool* pool = owner_device.default_pool.load(std::memory_order_acquire)) return *pool;
  const std::lock_guard lock{registered().mutex};
  memory_pool* pool = owner_device.default_pool.load(std::memory_order_acquire);
  if (pool == nullptr) {
    pool = &make_pool(owner_device,
                      {.cuda_location = {CU_MEM_LOCATION_TYPE_DEVICE, owner_device.ordinal()}}, 0);
    owner_device.default_pool.store(pool, std::memory_order_release);
  }
  return *pool;
}

memory_pool& current_pool(device& owner_device) {
  if (memory_pool* pool = owner_device.current_pool.load(std::memory_order_acquire)) return *pool;
  return default_pool(owner_device);
}

// The generation belongs to the pool's current lifetime if the pool is still the current pool after
// the read. Otherwise another thread may have destroyed the pool, and the loop tries again.
pool_generation current_pool_with_generation(device& owner_device) {
  for (;;) {
    memory_pool& pool = current_pool(owner_device);
    const std::uint64_t generation = pool.generation();
    if (&current_pool(owner_device) == &pool) return {&pool, generation};
  }
}

memory_pool* default_pool(device& target_device, const pool_location& location) {
  if (location.is_device()) return &default_pool(target_device);
  const std::lock_guard lock{registered().mutex};
  return pools_of(target_device, location).default_pool;
}

memory_pool* current_pool(device& target_device, const pool_location& location) {
  if (location.is_device()) return &current_pool(target_device);
  const std::lock_guard lock{registered().mutex};
  return pools_of(target_device, location).current;
}

bool make_current(device& target_device, const pool_location& location, CUmemoryPool handle) {
  const std::lock_guard lock{registered().mutex};
  memory_pool* const pool = find(handle);
  if (pool == nullptr) return false;
  if (location.is_device()) {
    target_device.current_pool.store(pool, std::memory_order_release);
  } else {
    pools_of(target_device, location).current = pool;
  }
  return true;
}

void trim_all_to_threshold() noexcept {
  // Clears the flag before it visits the pools, so that a free during the loop sets the flag again.
  idle_memory.store(false, std::memory_order_relaxed);
  bool has_idle_left = false;
  const std::lock_guard lock{registered().mutex};
  std::erase_if(registered().pools, [&](memory_pool* pool) {
    has_idle_left |= pool->trim_to_threshold();
    if (!pool->is_finished()) return false;
    pool->close();
    registered().handles.recycle(pool);
    return true;
  });
  if (has_idle_left) request_trim();
}

void release_all_idle(device& owner_device, stream* requesting_stream) noexcept {
  const std::lock_guard lock{registered().mutex};
  for (memory_pool* pool : registered().pools) {
    if (&pool->owner_device() == &owner_device) pool->release_all_idle(requesting_stream);
  }
  owner_device.graph_memory.trim();
}

bool reserve_memory(device& target_device, std::size_t bytes) noexcept {
  if (target_device.reserve_memory(bytes)) return true;
  release_all_idle(target_device, nullptr);
  return target_device.reserve_memory(bytes);
}

backing allocate_backing(std::size_t extent, device& target_device, shared_store* store) noexcept {
  backing block = backing::allocate(extent, &target_device, store);
  if (block) return block;
  release_all_idle(target_device, nullptr);
  return backing::allocate(extent, &target_device, store);
}

}  // namespace weir::embedded::model::pool_registry
