// entry/memory_pool.cpp - cuMemPool*: pools, their attributes, and which of them a device uses.
#include "embedded/model/memory_pool.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/pool_registry.hpp"

#include <algorithm>
#include <iterator>

namespace weir::embedded::entry {

namespace {

using model::memory_pool;
namespace registry = model::pool_registry;

// Runs a body with the pool behind a handle.
template <class Body>
CUresult with_pool(CUmemoryPool handle, Body&& body) {
  return guarded_outside_captures([&](model::process& p) -> CUresult {
    memory_pool* pool = registry::find(handle);
    return pool == nullptr ? CUDA_ERROR_INVALID_VALUE : body(p, *pool);
  });
}

// Where a pool with these properties would have its memory; null for what there cannot be.
model::device* place_of(const model::process& p, const CUmemPoolProps& props) {
  constexpr unsigned known_handles = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC;
  if (props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || (props.handleTypes & ~known_handles) != 0) return nullptr;
  if (std::any_of(std::begin(props.reserved), std::end(props.reserved), [](unsigned char c) { return c != 0; })) {
    return nullptr;
  }
  switch (props.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return p.find_device(props.location.id);
    case CU_MEM_LOCATION_TYPE_HOST: return p.find_device(0);
    default: return nullptr;
  }
}

// The device of a place that allocations by cuMemAllocAsync can come from.
CUresult find_device(const model::process& p, const CUmemLocation* location, CUmemAllocationType type,
                     model::device*& out) {
  const bool usual = location != nullptr && location->type == CU_MEM_LOCATION_TYPE_DEVICE;
  if (!usual || type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  out = p.find_device(location->id);
  return out == nullptr ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

// Answers with a pool of a device.
CUresult tell(CUmemoryPool* to, CUdevice ordinal, memory_pool& (*of)(model::device&)) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::device* device = p.find_device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *to = registry::handle_of(of(*device));
    return CUDA_SUCCESS;
  });
}

CUresult tell(CUmemoryPool* to, const CUmemLocation* location, CUmemAllocationType type,
              memory_pool& (*of)(model::device&)) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (to == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::device* device = nullptr;
    if (const CUresult status = find_device(p, location, type, device); status != CUDA_SUCCESS) return status;
    *to = registry::handle_of(of(*device));
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props) {
  return guarded_outside_captures([&](model::process& p) -> CUresult {
    if (pool == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::device* device = place_of(p, *props);
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *pool = registry::create(*device, props->location.type == CU_MEM_LOCATION_TYPE_HOST, props->maxSize);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return with_pool(pool, [](model::process&, memory_pool& found) {
    return registry::destroy(found) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  return with_pool(pool, [&](model::process&, memory_pool& found) {
    found.trim(keep);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_pool(pool, [&](model::process&, memory_pool& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : found.get(attribute, value);
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_pool(pool, [&](model::process&, memory_pool& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : found.set(attribute, value);
  });
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  return with_pool(pool, [&](model::process& p, memory_pool& found) -> CUresult {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || p.find_device(location->id) == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    *flags = found.access_of(location->id);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  return with_pool(pool, [&](model::process& p, memory_pool& found) -> CUresult {
    if (map == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (const CUmemAccessDesc* wanted = map; wanted != map + count; ++wanted) {
      if (wanted->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
      if (p.find_device(wanted->location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
      if (wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_READ) return CUDA_ERROR_NOT_SUPPORTED;
      const bool own = wanted->location.id == found.owner().ordinal() && !found.on_host();
      if (own && wanted->flags == CU_MEM_ACCESS_FLAGS_PROT_NONE) return CUDA_ERROR_INVALID_DEVICE;
    }
    for (const CUmemAccessDesc* wanted = map; wanted != map + count; ++wanted) {
      found.let_access(wanted->location.id, wanted->flags);
    }
    return CUDA_SUCCESS;
  });
}

// No pool here can be shared with another process, whatever it was made for.
CUresult cuMemPoolExportToShareableHandle(void*, CUmemoryPool pool, CUmemAllocationHandleType, unsigned long long) {
  return with_pool(pool, [](model::process&, memory_pool&) { return CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return tell(pool, device, &registry::default_pool);
}

CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device) { return tell(pool, device, &registry::current_pool); }

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
  return guarded_outside_captures([&](model::process& p) -> CUresult {
    model::device* of = p.find_device(device);
    memory_pool* wanted = registry::find(pool);
    if (of == nullptr || wanted == nullptr || &wanted->owner() != of || wanted->on_host()) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    of->current_pool.store(wanted, std::memory_order_release);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  return tell(pool, location, type, &registry::default_pool);
}

CUresult cuMemGetMemPool(CUmemoryPool* pool, CUmemLocation* location, CUmemAllocationType type) {
  return tell(pool, location, type, &registry::current_pool);
}

CUresult cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  const CUresult status = guarded_outside_host_functions([&](model::process& p) {
    model::device* of = nullptr;
    return find_device(p, location, type, of);
  });
  return status != CUDA_SUCCESS ? status : cuDeviceSetMemPool(location->id, pool);
}

}  // namespace weir::embedded::entry
