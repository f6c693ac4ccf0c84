// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/virtual_memory.cpp - cuMemCreate and related functions: allocations without
// addresses, and their file descriptors. cuMemAddress*, cuMemMap, cuMemSetAccess: reserved
// addresses and their mappings.
#include "embedded/model/memory/physical_memory.hpp"

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/address_space.hpp"

namespace weir::embedded::entry {

namespace physical = model::physical;
namespace space = model::address_space;

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  return guarded_outside_host_functions([&] {
    if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
        option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    // The minimum and recommended granularity of every kind of memory.
    return store(granularity, physical::granularity);
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size,
                     const CUmemAllocationProp* prop, unsigned long long flags) {
  return guarded_outside_host_functions([&] {
    if (handle == nullptr || prop == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return physical::create(size, *prop, handle);
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return guarded_outside_host_functions([&] { return physical::release(handle); });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  return guarded_outside_host_functions([&] {
    return prop != nullptr ? physical::get_properties(handle, *prop) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return guarded_outside_host_functions([&] {
    if (shareable == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return physical::export_descriptor(handle, static_cast<int*>(shareable));
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  return guarded_outside_host_functions([&] {
    if (handle == nullptr || type == CU_MEM_HANDLE_TYPE_NONE) return CUDA_ERROR_INVALID_VALUE;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_NOT_SUPPORTED;
    return physical::import_descriptor(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)),
                                       handle);
  });
}

// Returns CUDA_ERROR_NOT_SUPPORTED for valid arguments, because a dma-buf descriptor needs a driver
// in the operating system's kernel. A device attribute reports that it is not supported.
CUresult cuMemGetHandleForAddressRange(void* handle, CUdeviceptr address, size_t size,
                                       CUmemRangeHandleType type, unsigned long long flags) {
  return guarded_outside_host_functions([&] {
    constexpr std::size_t page = 4096;
    const bool known_flags =
        (flags & ~std::uint64_t{CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE}) == 0;
    const bool whole_pages = size != 0 && address % page == 0 && size % page == 0;
    if (handle == nullptr || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || !known_flags ||
        !whole_pages || model::address_map::find(address) == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_ERROR_NOT_SUPPORTED;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t size, size_t alignment,
                             CUdeviceptr address, unsigned long long flags) {
  return guarded_outside_host_functions([&] {
    if (pointer == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    std::uintptr_t reserved_start = 0;
    const CUresult status = space::reserve(size, alignment, address, reserved_start);
    if (status == CUDA_SUCCESS) *pointer = reserved_start;
    return status;
  });
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size) {
  return guarded_outside_host_functions([&] { return space::free(pointer, size); });
}

CUresult cuMemMap(CUdeviceptr pointer, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return guarded_outside_host_functions([&] {
    return flags == 0 ? space::map(pointer, size, offset, handle) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t size) {
  return guarded_outside_host_functions([&] { return space::unmap(pointer, size); });
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* desc,
                        size_t count) {
  return guarded_outside_host_functions([&] {
    if (desc == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    return space::set_access(pointer, size, {desc, count});
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr pointer) {
  return guarded_outside_host_functions([&] {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUmemAccess_flags access_flags{};
    const CUresult status = space::get_access(pointer, *location, access_flags);
    if (status == CUDA_SUCCESS) *flags = access_flags;
    return status;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return guarded_outside_host_functions([&] {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return space::retain(reinterpret_cast<std::uintptr_t>(address), handle);
  });
}

}  // namespace weir::embedded::entry
