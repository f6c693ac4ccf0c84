// model/pool_registry.cpp - the table of pools, each device's default and current pool.
#include "embedded/model/memory/pool/pool_registry.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "embedded/model/core/device.hpp"
#include "embedded/model/core/handle_table.hpp"
#include "embedded/model/graph/memory/graph_memory.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"

namespace weir::embedded::model::pool_registry {

using namespace abi;

namespace {

// The pools of a place that is no device.
struct location_pools {
  pool_location location;
  memory_pool* own;
  memory_pool* current;
};

struct registry {
  handle_table<memory_pool, handle_kind::pool> handles;
  std::mutex mutex;  // guards the list, and the making of default pools
  std::vector<memory_pool*>
      pools;  // those that hold memory or may come to: destroyed ones, too, until they are empty
  std::vector<location_pools> places;  // guarded likewise
};

registry& registry_instance() noexcept {
  // Never destroyed: destructors of static objects may still free memory.
  static registry& known = *new registry;
  return known;
}

// With the registry's lock held.
memory_pool& make(registry& known, device& on, const pool_location& location,
                  std::size_t max_bytes) {
  known.pools.reserve(known.pools.size() + 1);
  memory_pool* pool = known.handles.acquire();
  try {
    pool->open(on, location, max_bytes);
  } catch (...) {
    known.handles.recycle(pool);
    throw;
  }
  known.pools.push_back(pool);
  pool->set_handle(static_cast<CUmemoryPool>(known.handles.publish(pool)));
  return *pool;
}

// With the registry's lock held.
location_pools& pools_of(registry& known, device& on, const pool_location& location) {
  for (location_pools& pools : known.places) {
    if (pools.location == location) return pools;
  }
  known.places.reserve(known.places.size() + 1);
  memory_pool& own = make(known, on, location, 0);
  known.places.push_back({location, &own, &own});
  return known.places.back();
}

// Is it the own pool of a place, which stays? With the registry's lock held.
bool is_registered(const registry& known, const memory_pool& pool) noexcept {
  return &pool == pool.owner().default_pool.load(std::memory_order_acquire) ||
         std::ranges::any_of(known.places,
                             [&](const location_pools& pools) { return pools.own == &pool; });
}

// What was the current pool of a place is so no more. With the registry's lock held.
void remove_from_locations(registry& known, memory_pool& pool) noexcept {
  for (location_pools& pools : known.places) {
    if (pools.current == &pool) pools.current = nullptr;
  }
  device& on = pool.owner();
  memory_pool* expected = &pool;
  on.current_pool.compare_exchange_strong(expected, on.default_pool.load(std::memory_order_acquire),
                                          std::memory_order_acq_rel);
}

}  // namespace

CUmemoryPool create(device& on, const pool_location& location, std::size_t max_bytes) {
  registry& known = registry_instance();
  const std::lock_guard lock{known.mutex};
  return handle_of(make(known, on, location, max_bytes));
}

memory_pool* find(CUmemoryPool handle) noexcept { return registry_instance().handles.find(handle); }

pool_generation find_with_generation(CUmemoryPool handle) noexcept {
  memory_pool* const found = find(handle);
  if (found == nullptr) return {};
  const std::uint64_t generation = found->generation();
  return find(handle) == found ? pool_generation{found, generation}
                               : pool_generation{};  // it may have ended before it was asked
}

CUmemoryPool handle_of(const memory_pool& pool) noexcept { return pool.handle(); }

bool destroy(CUmemoryPool handle) noexcept {
  registry& known = registry_instance();
  {
    const std::lock_guard lock{known.mutex};
    memory_pool* const pool = find(handle);
    if (pool == nullptr || is_registered(known, *pool)) return false;
    (void)known.handles.retire(pool, handle);
    remove_from_locations(known, *pool);
    pool->end();
  }
  trim_all_to_threshold();
  return true;
}

memory_pool& default_pool(device& of) {
  if (memory_pool* pool = of.default_pool.load(std::memory_order_acquire)) return *pool;
  registry& known = registry_instance();
  const std::lock_guard lock{known.mutex};
  memory_pool* pool = of.default_pool.load(std::memory_order_acquire);
  if (pool == nullptr) {
    pool = &make(known, of, {.at = {CU_MEM_LOCATION_TYPE_DEVICE, of.ordinal()}}, 0);
    of.default_pool.store(pool, std::memory_order_release);
  }
  return *pool;
}

memory_pool& current_pool(device& of) {
  if (memory_pool* pool = of.current_pool.load(std::memory_order_acquire)) return *pool;
  return default_pool(of);
}

// One that is still current when it has told its life is so in that one, or has ended since.
pool_generation current_pool_with_generation(device& of) {
  for (;;) {
    memory_pool& pool = current_pool(of);
    const std::uint64_t generation = pool.generation();
    if (&current_pool(of) == &pool) return {&pool, generation};
  }
}

memory_pool* default_pool(device& on, const pool_location& location) {
  if (location.is_device()) return &default_pool(on);
  registry& known = registry_instance();
  const std::lock_guard lock{known.mutex};
  return pools_of(known, on, location).own;
}

memory_pool* current_pool(device& on, const pool_location& location) {
  if (location.is_device()) return &current_pool(on);
  registry& known = registry_instance();
  const std::lock_guard lock{known.mutex};
  return pools_of(known, on, location).current;
}

bool make_current(device& on, const pool_location& location, CUmemoryPool handle) {
  registry& known = registry_instance();
  const std::lock_guard lock{known.mutex};
  memory_pool* const pool = find(handle);
  if (pool == nullptr) return false;
  if (location.is_device()) {
    on.current_pool.store(pool, std::memory_order_release);
  } else {
    pools_of(known, on, location).current = pool;
  }
  return true;
}

void trim_all_to_threshold() noexcept {
  registry& known = registry_instance();
  idle_memory.store(
      false, std::memory_order_relaxed);  // before looking: what is freed meanwhile says so again
  bool more = false;
  const std::lock_guard lock{known.mutex};
  for (std::size_t i = known.pools.size(); i-- > 0;) {
    memory_pool& pool = *known.pools[i];
    more |= pool.trim_to_threshold();
    if (pool.finished()) {
      known.pools.erase(known.pools.begin() + static_cast<std::ptrdiff_t>(i));
      pool.close();
      pool.sharing.clear();
      known.handles.recycle(&pool);
    }
  }
  if (more) request_trim();
}

void release_all_idle(device& of, stream* by) noexcept {
  registry& known = registry_instance();
  const std::lock_guard lock{known.mutex};
  for (memory_pool* pool : known.pools) {
    if (&pool->owner() == &of) pool->release_all_idle(by);
  }
  graph_memory::trim(of);
}

}  // namespace weir::embedded::model::pool_registry
