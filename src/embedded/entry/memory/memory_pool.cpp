// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/memory_pool.cpp - cuMemPool*: memory pools, their attributes, and the pool
// that each device uses.
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/ipc/ipc_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

#include <span>

namespace weir::embedded::entry {

namespace {

using model::memory_pool;
using model::pool_location;
namespace registry = model::pool_registry;

// The limit of a pool's maximum size. On an H200, a new pool reserves addresses for its maximum
// size, so the size of the address space limits it.
constexpr std::size_t max_pool_bytes = (std::size_t{1} << 46) - 1;

// Looks up a pool and calls the body with it.
template <class Body>
CUresult with_pool(CUmemoryPool handle, Body&& body) {
  return guarded_outside_captures([&] {
    memory_pool* pool = registry::find(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(*pool);
  });
}

// Like with_pool(), but returns CUDA_ERROR_INVALID_VALUE for a pool that was imported from another
// process.
template <class Body>
CUresult with_own_pool(CUmemoryPool handle, Body&& body) {
  return with_pool(handle, [&](memory_pool& found) {
    return found.sharing.imported() ? CUDA_ERROR_INVALID_VALUE : body(found);
  });
}

// Checks a location and stores it in `target` in normalised form. Returns the device to which a
// pool at this location belongs: the device itself, or device 0 for any other location. Returns
// null if a pool cannot have this location.
model::device* find_location(const CUmemLocation& cuda_location, CUmemAllocationType type,
                             pool_location& target) {
  const model::process& p = model::this_process();
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED)
    return nullptr;
  target = {type, {cuda_location.type, 0}};
  switch (cuda_location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      target.cuda_location.id = cuda_location.id;
      return p.find_device(cuda_location.id);
    case CU_MEM_LOCATION_TYPE_HOST: return p.find_device(0);
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return cuda_location.id == 0 ? p.find_device(0) : nullptr;  // the host is a single NUMA node
    case CU_MEM_LOCATION_TYPE_INVALID:
      // A managed pool without a preferred location.
      return target.is_managed() ? p.find_device(0) : nullptr;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      target.cuda_location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
      return target.is_managed() ? p.find_device(0) : nullptr;
  }
  return nullptr;
}

// Returns true if a pool with these properties can exist at the location. A managed pool cannot
// have a maximum size and cannot be shared. A shared pool cannot have CU_MEM_LOCATION_TYPE_HOST.
bool are_possible(const CUmemPoolProps& props, const pool_location& target) {
  constexpr unsigned known_handles =
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
  const bool shared = props.handleTypes != CU_MEM_HANDLE_TYPE_NONE;
  if (target.is_managed() && (shared || props.maxSize != 0)) return false;
  if (target.cuda_location.type == CU_MEM_LOCATION_TYPE_HOST && shared) return false;
  return (props.handleTypes & ~known_handles) == 0 && are_all_zero(props.reserved);
}

// Stores the handle of the pool that find_pool(device, location) returns.
CUresult get_pool(CUmemoryPool* out, const CUmemLocation* location, CUmemAllocationType type,
                  memory_pool* (*find_pool)(model::device&, const pool_location&)) {
  return guarded_outside_host_functions([&] {
    if (out == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (location->type > CU_MEM_LOCATION_TYPE_HOST_NUMA) return CUDA_ERROR_NOT_SUPPORTED;
    pool_location target;
    model::device* target_device = find_location(*location, type, target);
    const memory_pool* found =
        target_device != nullptr ? find_pool(*target_device, target) : nullptr;
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = found->handle();
    return CUDA_SUCCESS;
  });
}

// Returns the location of the pools of a device, which cuDevice*MemPool name by its ordinal. The
// type of their memory is CU_MEM_ALLOCATION_TYPE_PINNED.
CUmemLocation location_of_device(CUdevice ordinal) {
  return {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
}

// Converts a location to a user of memory_pool::access_of(). Returns false for a location that
// cannot access memory.
bool find_user(const CUmemLocation& cuda_location, int& user) {
  switch (cuda_location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      user = cuda_location.id;
      return model::this_process().find_device(cuda_location.id) != nullptr;
    case CU_MEM_LOCATION_TYPE_HOST: user = memory_pool::host; return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      user = memory_pool::host_node;
      return cuda_location.id == 0;
    default: return false;
  }
}

// Returns an error if the pool cannot grant the `requested` access. Only devices can access the
// pool of a device. The host's access to a host pool cannot be revoked.
CUresult check_access_change(const memory_pool& pool, const CUmemAccessDesc& requested) {
  const bool revokes_access = requested.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (requested.flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return CUDA_ERROR_NOT_SUPPORTED;
  const bool to_device = requested.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (!to_device && pool.location().is_device()) return CUDA_ERROR_NOT_SUPPORTED;
  if (to_device && model::this_process().find_device(requested.location.id) == nullptr)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!revokes_access && requested.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    return CUDA_ERROR_INVALID_VALUE;
  if (to_device) return CUDA_SUCCESS;
  int user = 0;
  if (!find_user(requested.location, user)) return CUDA_ERROR_INVALID_VALUE;
  return pool.location().is_host() && revokes_access ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  return guarded_outside_captures([&] {
    if (pool == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
    pool_location target;
    model::device* target_device = find_location(props->location, props->allocType, target);
    if (target.is_managed() && props->location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (target_device == nullptr || !are_possible(*props, target)) return CUDA_ERROR_INVALID_VALUE;
    if (props->maxSize > max_pool_bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    memory_pool& created = registry::create(*target_device, target, props->maxSize);
    if ((props->handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
      if (const CUresult status =
              created.sharing.make_shareable(*target_device, target.cuda_location);
          status != CUDA_SUCCESS) {
        (void)registry::destroy(created.handle());
        return status;
      }
    }
    *pool = created.handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return with_pool(pool, [&](memory_pool& found) {
    if (found.sharing.imported()) return model::ipc_pool::destroy(found, pool);
    return registry::destroy(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  return with_own_pool(pool, [&](memory_pool& found) {
    // An H200 rounds `keep` up to a multiple of 32 MiB. For a very large `keep` the sum wraps
    // around, and all idle memory is released.
    constexpr size_t step = size_t{32} << 20;
    found.trim(keep + step - 1 < keep ? 0 : keep);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_own_pool(pool, [&](memory_pool& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : found.get(attribute, value);
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_own_pool(pool, [&](memory_pool& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : found.set(attribute, value);
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  return with_pool(pool, [&](memory_pool& found) {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // As on an H200, a query of a device's pool does not check the ID of the host's NUMA node.
    if (found.location().is_device() && (location->type == CU_MEM_LOCATION_TYPE_HOST ||
                                         location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA)) {
      *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
      return CUDA_SUCCESS;
    }
    int user = 0;
    if (!find_user(*location, user)) return CUDA_ERROR_INVALID_VALUE;
    *flags = found.access_of(user);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  return with_pool(pool, [&](memory_pool& found) {
    if (map == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::span changes{map, count};
    for (const CUmemAccessDesc& requested : changes) {
      if (const CUresult error = check_access_change(found, requested)) return error;
    }
    // The access of the pool's own device cannot be revoked. All other errors take precedence over
    // this error.
    for (const auto& [location, flags] : changes) {
      const bool own =
          found.location().is_device() && location.id == found.owner_device().ordinal();
      if (own && flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_INVALID_DEVICE;
    }
    for (const auto& [location, flags] : changes) {
      int user = 0;
      if (find_user(location, user)) found.set_access(user, flags);
    }
    return CUDA_SUCCESS;
  });
}

// Unlike cuDeviceGetMemPool, returns CUDA_ERROR_INVALID_DEVICE for an unknown device.
CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return with_device(device, [&](const model::device&) {
    CUmemLocation location = location_of_device(device);
    return cuMemGetDefaultMemPool(pool, &location, CU_MEM_ALLOCATION_TYPE_PINNED);
  });
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  CUmemLocation location = location_of_device(device);
  return cuMemGetMemPool(pool, &location, CU_MEM_ALLOCATION_TYPE_PINNED);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  CUmemLocation location = location_of_device(device);
  return cuMemSetMemPool(&location, CU_MEM_ALLOCATION_TYPE_PINNED, pool);
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
  return get_pool(pool, location, type, &registry::default_pool);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  return get_pool(pool, location, type, &registry::current_pool);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  return guarded_outside_captures([&] {
    if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    pool_location target;
    model::device* target_device = find_location(*location, type, target);
    memory_pool* requested = registry::find(pool);
    const bool is_possible = target_device != nullptr && requested != nullptr &&
                             requested->location() == target && !requested->sharing.imported();
    return is_possible && registry::make_current(*target_device, target, pool)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace weir::embedded::entry
