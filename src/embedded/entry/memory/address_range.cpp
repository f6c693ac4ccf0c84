// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/address_range.cpp - cuMemAddress*, cuMemMap, cuMemUnmap, cuMemSetAccess:
// reserved addresses and their mappings.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/address_space.hpp"

namespace weir::embedded::entry {

namespace space = model::address_space;

CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t size, size_t alignment,
                             CUdeviceptr address, unsigned long long flags) {
  return guarded_outside_host_functions([&](model::process&) {
    if (pointer == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    std::uintptr_t reserved_start = 0;
    const CUresult status = space::reserve(size, alignment, address, reserved_start);
    if (status == CUDA_SUCCESS) *pointer = reserved_start;
    return status;
  });
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t size) {
  return guarded_outside_host_functions(
      [&](model::process&) { return space::free(pointer, size); });
}

CUresult cuMemMap(CUdeviceptr pointer, size_t size, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags) {
  return guarded_outside_host_functions([&](model::process&) {
    return flags == 0 ? space::map(pointer, size, offset, handle) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t size) {
  return guarded_outside_host_functions(
      [&](model::process&) { return space::unmap(pointer, size); });
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t size, const CUmemAccessDesc* desc,
                        size_t count) {
  return guarded_outside_host_functions([&](model::process&) {
    if (desc == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    return space::set_access(pointer, size, {desc, count});
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location,
                        CUdeviceptr pointer) {
  return guarded_outside_host_functions([&](model::process&) {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUmemAccess_flags access_flags{};
    const CUresult status = space::get_access(pointer, *location, access_flags);
    if (status == CUDA_SUCCESS) *flags = access_flags;
    return status;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return guarded_outside_host_functions([&](model::process&) {
    if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return space::retain(reinterpret_cast<std::uintptr_t>(address), handle);
  });
}

}  // namespace weir::embedded::entry
