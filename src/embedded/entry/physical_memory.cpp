// entry/physical_memory.cpp - cuMemCreate and what goes with it: allocations without addresses, and their descriptors.
#include "embedded/model/physical_memory.hpp"

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

namespace physical = model::physical;

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags option) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (granularity == nullptr || prop == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult status = physical::check(*prop);
    if (status == CUDA_SUCCESS) *granularity = physical::granularity;
    return status;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t size, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (handle == nullptr || prop == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return physical::create(size, *prop, handle);
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return guarded_outside_host_functions([&](model::process&) { return physical::release(handle); });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop, CUmemGenericAllocationHandle handle) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    return prop != nullptr ? physical::tell(handle, *prop) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (shareable == nullptr || flags != 0 || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return physical::export_descriptor(handle, static_cast<int*>(shareable));
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  return guarded_outside_host_functions([&](model::process&) -> CUresult {
    if (handle == nullptr || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return CUDA_ERROR_INVALID_VALUE;
    return physical::import_descriptor(static_cast<int>(reinterpret_cast<std::intptr_t>(shareable)), handle);
  });
}

// No system hands out what a device driver of the kernel would: the memory of this device is the process's own.
CUresult cuMemGetHandleForAddressRange(void*, CUdeviceptr, size_t, CUmemRangeHandleType, unsigned long long) {
  return guarded_outside_host_functions([](model::process&) { return CUDA_ERROR_NOT_SUPPORTED; });
}

}  // namespace weir::embedded::entry
