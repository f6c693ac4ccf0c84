// entry/memory_pool.cpp - cuMemPool*: pools, their attributes, and which of them a device uses.
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

// A pool takes the addresses of its greatest size at once; these are all that a process has.
constexpr std::size_t addresses = (std::size_t{1} << 46) - 1;

// Runs a body with the pool behind a handle.
template <class Body>
CUresult with_pool(CUmemoryPool handle, Body&& body) {
  return guarded_outside_captures([&](model::process& p) -> CUresult {
    memory_pool* pool = registry::find(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(p, *pool);
  });
}

// The same with a pool that has memory of its own, which one of another process has not.
template <class Body>
CUresult with_own_pool(CUmemoryPool handle, Body&& body) {
  return with_pool(handle, [&](model::process& p, memory_pool& found) -> CUresult {
    return found.sharing.imported() ? CUDA_ERROR_INVALID_VALUE : body(p, found);
  });
}

// A place as a program names it. The device that a pool there belongs to; null where there can be
// none.
model::device* find_location(const model::process& p, const CUmemLocation& at,
                             CUmemAllocationType type, pool_location& target) {
  if (type != CU_MEM_ALLOCATION_TYPE_PINNED && type != CU_MEM_ALLOCATION_TYPE_MANAGED)
    return nullptr;
  target = {type, {at.type, 0}};
  switch (at.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: target.at.id = at.id; return p.find_device(at.id);
    case CU_MEM_LOCATION_TYPE_HOST: return p.find_device(0);
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return at.id == 0 ? p.find_device(0) : nullptr;  // the host counts as one node
    case CU_MEM_LOCATION_TYPE_INVALID:
      return target.is_managed() ? p.find_device(0) : nullptr;  // at none for good
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
      target.at.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
      return target.is_managed() ? p.find_device(0) : nullptr;
  }
  return nullptr;
}

// Could there be a pool with these properties at that place? A managed one has no limit, and what
// is handed to another process is at a place for good.
bool are_possible(const CUmemPoolProps& props, const pool_location& target) {
  constexpr unsigned known_handles =
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
  const bool shared = props.handleTypes != CU_MEM_HANDLE_TYPE_NONE;
  if (target.is_managed() && (shared || props.maxSize != 0)) return false;
  if (target.at.type == CU_MEM_LOCATION_TYPE_HOST && shared) return false;
  return (props.handleTypes & ~known_handles) == 0 &&
         std::all_of(std::begin(props.reserved), std::end(props.reserved),
                     [](unsigned char c) { return c == 0; });
}

// Answers with a pool of a device; with `bad_device` where there is no such device.
CUresult get_device_pool(CUmemoryPool* to, CUdevice ordinal, CUresult bad_device,
                         memory_pool& (*of)(model::device&)) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    model::device* device = p.find_device(ordinal);
    if (device == nullptr) return bad_device;
    if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *to = registry::handle_of(of(*device));
    return CUDA_SUCCESS;
  });
}

// Answers with a pool of a place.
CUresult get_device_pool(CUmemoryPool* to, const CUmemLocation* location, CUmemAllocationType type,
                         memory_pool* (*of)(model::device&, const pool_location&)) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (to == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (location->type > CU_MEM_LOCATION_TYPE_HOST_NUMA) return CUDA_ERROR_NOT_SUPPORTED;
    pool_location target;
    model::device* on = find_location(p, *location, type, target);
    const memory_pool* found = on != nullptr ? of(*on, target) : nullptr;
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *to = registry::handle_of(*found);
    return CUDA_SUCCESS;
  });
}

// Who may use a pool, by number: a device by its ordinal, the host and its node below 0. False for
// a place that uses none.
bool find_user(const model::process& p, const CUmemLocation& at, int& user) {
  switch (at.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: user = at.id; return p.find_device(at.id) != nullptr;
    case CU_MEM_LOCATION_TYPE_HOST: user = memory_pool::host; return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: user = memory_pool::host_node; return at.id == 0;
    default: return false;
  }
}

// Can that be had of the pool? Memory of a device is for devices.
CUresult check_access_change(const model::process& p, const memory_pool& pool,
                             const CUmemAccessDesc& wanted) {
  const bool taken = wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
  if (wanted.flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return CUDA_ERROR_NOT_SUPPORTED;
  const bool to_device = wanted.location.type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (!to_device && pool.location().is_device()) return CUDA_ERROR_NOT_SUPPORTED;
  if (to_device && p.find_device(wanted.location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (!taken && wanted.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
  if (to_device) return CUDA_SUCCESS;
  int user = 0;
  if (!find_user(p, wanted.location, user)) return CUDA_ERROR_INVALID_VALUE;
  return pool.location().is_host() && taken ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  return guarded_outside_captures([&](model::process& p) -> CUresult {
    if (pool == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
    pool_location target;
    model::device* on = find_location(p, props->location, props->allocType, target);
    if (target.is_managed() && props->location.type > CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT) {
      return CUDA_ERROR_NOT_SUPPORTED;
    }
    if (on == nullptr || !are_possible(*props, target)) return CUDA_ERROR_INVALID_VALUE;
    if (props->maxSize > addresses) return CUDA_ERROR_OUT_OF_MEMORY;
    const CUmemoryPool made = registry::create(*on, target, props->maxSize);
    if ((props->handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) != 0) {
      memory_pool& found = *registry::find(made);
      if (const CUresult status = found.sharing.make(on->ordinal(), target.at);
          status != CUDA_SUCCESS) {
        (void)registry::destroy(made);
        return status;
      }
    }
    *pool = made;
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
    // An H200 rounds up to what it reserves memory by, and the sum wraps around.
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
  return with_pool(pool, [&](model::process& p, memory_pool& found) -> CUresult {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    // A device's pool does not ask which node of the host is meant.
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
  return with_pool(pool, [&](model::process& p, memory_pool& found) -> CUresult {
    if (map == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (const CUmemAccessDesc* wanted = map; wanted != map + count; ++wanted) {
      if (const CUresult status = check_access_change(p, found, *wanted); status != CUDA_SUCCESS)
        return status;
    }
    // Its own place keeps what it has; that is looked at when all else is right.
    for (const CUmemAccessDesc* wanted = map; wanted != map + count; ++wanted) {
      const bool own =
          found.location().is_device() && wanted->location.id == found.owner().ordinal();
      if (own && wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_INVALID_DEVICE;
    }
    for (const CUmemAccessDesc* wanted = map; wanted != map + count; ++wanted) {
      int user = 0;
      if (find_user(p, wanted->location, user)) found.set_access(user, wanted->flags);
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
  return guarded_outside_captures([&](model::process& p) -> CUresult {
    model::device* of = p.find_device(device);
    memory_pool* wanted = registry::find(pool);
    if (of == nullptr || wanted == nullptr || &wanted->owner() != of ||
        !wanted->location().is_device()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (wanted->sharing.imported()) return CUDA_ERROR_INVALID_VALUE;
    return registry::make_current(*of, wanted->location(), pool) ? CUDA_SUCCESS
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
  return guarded_outside_captures([&](model::process& p) -> CUresult {
    if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    pool_location target;
    model::device* on = find_location(p, *location, type, target);
    memory_pool* wanted = registry::find(pool);
    if (on == nullptr || wanted == nullptr || !(wanted->location() == target))
      return CUDA_ERROR_INVALID_VALUE;
    if (wanted->sharing.imported()) return CUDA_ERROR_INVALID_VALUE;
    return registry::make_current(*on, target, pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

}  // namespace weir::embedded::entry
