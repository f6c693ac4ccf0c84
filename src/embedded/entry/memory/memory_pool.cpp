// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/memory_pool.cpp - cuMemPool*: memory pools, their attributes, and the pool
// that each device uses.
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/ipc/ipc_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

#include <algorithm>
#include <iterator>

namespace weir::embedded::entry {

namespace {

using model::memory_pool;
using model::pool_location;
namespace registry = model::pool_registry;

// The limit of a pool's maximum size. On an H200, a new pool reserves addresses for its maximum
// size, so the size of the address space limits it.
constexpr std::size_t addresses = (std::size_t{1} << 46) - 1;

// Looks up a pool and calls the body with it.
template <class Body>
CUresult with_pool(CUmemoryPool handle, Body&& body) {
  return guarded_outside_captures([&](model::process& p) {
    memory_pool* pool = registry::find(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(p, *pool);
  });
}

// Like with_pool(), but returns CUDA_ERROR_INVALID_VALUE for a pool that was imported from another
// process.
template <class Body>
CUresult with_own_pool(CUmemoryPool handle, Body&& body) {
  return with_pool(handle, [&](model::process& p, memory_pool& found) {
    return found.sharing.imported() ? CUDA_ERROR_INVALID_VALUE : body(p, found);
  });
}

// Checks a location and stores it in `target` in normalised form. Returns the device to which a
// pool at this location belongs: the device itself, or device 0 for any other location. Returns
// null if a pool cannot have this location.
model::device* find_location(const model::process& p, const CUmemLocation& cuda_location,
                             CUmemAllocationType type, pool_location& target) {
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
  return (props.handleTypes & ~known_handles) == 0 &&
         std::all_of(std::begin(props.reserved), std::end(props.reserved),
                     [](unsigned char c) { return c == 0; });
}

// Stores the handle of the pool that pool_of_device(device) returns. Returns `bad_device` for an
// unknown device.
CUresult get_device_pool(CUmemoryPool* out, CUdevice ordinal, CUresult bad_device,
                         memory_pool& (*pool_of_device)(model::device&)) {
  return guarded_outside_host_functions([&](model::process& p) {
    model::device* device = p.find_device(ordinal);
    if (device == nullptr) return bad_device;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = pool_of_device(*device).handle();
    return CUDA_SUCCESS;
  });
}

// Stores the handle of the pool that find_pool(device, location) returns.
CUresult get_device_pool(CUmemoryPool* out, const CUmemLocation* location, CUmemAllocationType type,
                         memory_pool* (*find_pool)(model::device&, const pool_location&)) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (out == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (location->type > CU_MEM_LOCATION_TYPE_HOST_NUMA) return CUDA_ERROR_NOT_SUPPORTED;
    pool_location target;
    model::device* target_device = find_location(p, *location, type, target);
    const memory_pool* found =
        target_device != nullptr ? find_pool(*target_device, target) : nullptr;
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = found->handle();
    return CUDA_SUCCESS;
  });
}

// Converts a location to a user of pool_access: a device's ordinal, pool_access::host or
// pool_access::host_node. Returns false for a location that cannot access memory.
bool find_user(const model::process& p, const CUmemLocation& cuda_location, int& user) {
  switch (cuda_location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      user = cuda_location.id;
      return p.find_device(cuda_location.id) != nullptr;
    case CU_MEM_LOCATION_TYPE_HOST: user = model::pool_access::host; return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      user = model::pool_access::host_node;
      return cuda_location.id == 0;
    default: return false;
  }
}

// Returns an error if the pool cannot grant this access. Only devices can access the pool of a
// device.
CUresult check_access_change(const model::process& p, const memory_pool& pool,
                             const CUmemAccessDesc& requested) {
  const bool revokes_access = requested.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (requested.flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return CUDA_ERROR_NOT_SUPPORTED;
  const bool to_device = requested.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (!to_device && pool.location().is_device()) return CUDA_ERROR_NOT_SUPPORTED;
  if (to_device && p.find_device(requested.location.id) == nullptr)
    return CUDA_ERROR_INVALID_DEVICE;
  if (!revokes_access && requested.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    return CUDA_ERROR_INVALID_VALUE;
  if (to_device) return CUDA_SUCCESS;
  int user = 0;
  if (!find_user(p, requested.location, user)) return CUDA_ERROR_INVALID_VALUE;
  return pool.location().is_host() && revokes_access ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  return guarded_outside_captures([&](model::process& p) {
    if (pool == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
    pool_location target;
    model::device* target_device = find_location(p, props->location, props->allocType, target);
    if (target.is_managed() && props->location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (target_device == nullptr || !are_possible(*props, target)) return CUDA_ERROR_INVALID_VALUE;
    if (props->maxSize > addresses) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUmemoryPool created = registry::create(*target_device, target, props->maxSize);
    if ((props->handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
      memory_pool& found = *registry::find(created);
      if (const CUresult status =
              found.sharing.make_shareable(target_device->ordinal(), target.cuda_location);
          status != CUDA_SUCCESS) {
        (void)registry::destroy(created);
        return status;
      }
    }
    *pool = created;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return with_pool(pool, [&](model::process&, memory_pool& found) {
    if (found.sharing.imported()) return model::ipc_pool::destroy(found, pool);
    return registry::destroy(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  return with_own_pool(pool, [&](model::process&, memory_pool& found) {
    // An H200 rounds `keep` up to a multiple of 32 MiB. For a very large `keep` the sum wraps
    // around, and all idle memory is released.
    constexpr size_t step = size_t{32} << 20;
    found.trim(keep + step - 1 < keep ? 0 : keep);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_own_pool(pool, [&](model::process&, memory_pool& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : found.get(attribute, value);
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_own_pool(pool, [&](model::process&, memory_pool& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : found.set(attribute, value);
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  return with_pool(pool, [&](model::process& p, memory_pool& found) {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // As on an H200, a query of a device's pool does not check the ID of the host's NUMA node.
    if (found.location().is_device() && (location->type == CU_MEM_LOCATION_TYPE_HOST ||
                                         location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA)) {
      *flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
      return CUDA_SUCCESS;
    }
    int user = 0;
    if (!find_user(p, *location, user)) return CUDA_ERROR_INVALID_VALUE;
    *flags = found.access_of(user);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  return with_pool(pool, [&](model::process& p, memory_pool& found) {
    if (map == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const CUmemAccessDesc* requested = map; requested != map + count; ++requested) {
      if (const CUresult error = check_access_change(p, found, *requested)) return error;
    }
    // The access of the pool's own device cannot be revoked. All other errors take precedence over
    // this error.
    for (const CUmemAccessDesc* requested = map; requested != map + count; ++requested) {
      const bool own =
          found.location().is_device() && requested->location.id == found.owner_device().ordinal();
      if (own && requested->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
        return CUDA_ERROR_INVALID_DEVICE;
    }
    for (const CUmemAccessDesc* requested = map; requested != map + count; ++requested) {
      int user = 0;
      if (find_user(p, requested->location, user)) found.set_access(user, requested->flags);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return get_device_pool(pool, device, CUDA_ERROR_INVALID_DEVICE, &registry::default_pool);
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) {
  return get_device_pool(pool, device, CUDA_ERROR_INVALID_VALUE, &registry::current_pool);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return guarded_outside_captures([&](model::process& p) {
    model::device* owner_device = p.find_device(device);
    memory_pool* requested = registry::find(pool);
    if (owner_device == nullptr || requested == nullptr ||
        &requested->owner_device() != owner_device || !requested->location().is_device()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (requested->sharing.imported()) return CUDA_ERROR_INVALID_VALUE;
    return registry::make_current(*owner_device, requested->location(), pool)
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location,
                                CUmemAllocationType type) {
  return get_device_pool(pool, location, type, &registry::default_pool);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  return get_device_pool(pool, location, type, &registry::current_pool);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  return guarded_outside_captures([&](model::process& p) {
    if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    pool_location target;
    model::device* target_device = find_location(p, *location, type, target);
    memory_pool* requested = registry::find(pool);
    if (target_device == nullptr || requested == nullptr || !(requested->location() == target))
      return CUDA_ERROR_INVALID_VALUE;
    if (requested->sharing.imported()) return CUDA_ERROR_INVALID_VALUE;
    return registry::make_current(*target_device, target, pool) ? CUDA_SUCCESS
                                                                : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace weir::embedded::entry
