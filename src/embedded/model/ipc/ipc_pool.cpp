// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/ipc_pool.cpp - the imported memory pools of this process.
#include "embedded/model/ipc/ipc_pool.hpp"

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include "embedded/model/core/process.hpp"
#include "embedded/model/ipc/imported_store.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_location.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

namespace weir::embedded::model::ipc_pool {

using namespace abi;

namespace {

struct imported_pool {
  memory_pool* pool;
  std::size_t imports;  // the number of imports that destroy() has not undone yet
};

struct imported_list {
  std::mutex mutex;
  std::vector<imported_pool> entries;
};

imported_list& imported() noexcept {
  // Never destroyed, because destructors of static objects may still destroy imported pools.
  static imported_list& list = *new imported_list;
  return list;
}

// Returns true if a shared pool can have the location that a store has: the store's device, or NUMA
// node 0.
bool has_pool_location(const imported_store& store) {
  const CUmemLocation& location = store.location();
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE
             ? location.id == store.device()
             : location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && location.id == 0;
}

}  // namespace

CUresult import(int fd, CUmemoryPool& out) {
  imported_store store = imported_store::open(os::shared_memory::duplicate_of(fd));
  if (!store || !has_pool_location(store)) return CUDA_ERROR_UNKNOWN;
  device* target_device = this_process().find_device_by_number(store.device());
  if (target_device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock{imported().mutex};
  std::vector<imported_pool>& entries = imported().entries;
  const auto imported_entry = std::ranges::find(
      entries, store.identity(), [](const imported_pool& p) { return p.pool->sharing.identity(); });
  if (imported_entry != entries.end()) {
    ++imported_entry->imports;
    out = imported_entry->pool->handle();
    return CUDA_SUCCESS;
  }
  entries.reserve(entries.size() + 1);
  CUmemLocation location = store.location();
  if (location.type == CU_MEM_LOCATION_TYPE_DEVICE) location.id = target_device->ordinal();
  memory_pool& pool = pool_registry::create(*target_device, {.cuda_location = location}, 0);
  pool.sharing.import(std::move(store));
  entries.push_back({&pool, 1});
  out = pool.handle();
  return CUDA_SUCCESS;
}

CUresult destroy(memory_pool& pool, CUmemoryPool handle) {
  const std::lock_guard lock{imported().mutex};
  // Another thread may have destroyed the pool.
  if (pool_registry::find(handle) != &pool) return CUDA_ERROR_INVALID_VALUE;
  std::vector<imported_pool>& entries = imported().entries;
  const auto imported_entry = std::ranges::find(entries, &pool, &imported_pool::pool);
  if (imported_entry == entries.end() || pool.sharing.has_mappings())
    return CUDA_ERROR_INVALID_VALUE;
  if (imported_entry->imports > 1) {
    --imported_entry->imports;
    return CUDA_SUCCESS;
  }
  if (!pool.sharing.end_import()) return CUDA_ERROR_INVALID_VALUE;
  entries.erase(imported_entry);
  return pool_registry::destroy(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult describe(CUdeviceptr address, CUmemPoolPtrExportData& out) {
  allocation* found = address_map::find(address);
  if (found == nullptr || found->kind != memory_kind::pooled || found->start() != address) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  memory_pool* pool = found->pool;  // null if another thread has freed it
  return pool != nullptr ? pool->sharing.describe(*found, out) : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace weir::embedded::model::ipc_pool
