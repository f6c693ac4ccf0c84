// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/pool_sharing.cpp - cuMemPoolExport*, cuMemPoolImport*: memory pools shared
// between processes.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/ipc/ipc_pool.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"
#include "embedded/model/memory/pool/pool_registry.hpp"

#include <cstdint>
#include <cstring>

namespace weir::embedded::entry {

CUresult cuMemPoolExportToShareableHandle(void* handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
  return guarded_outside_captures([&](model::process&) {
    model::memory_pool* found = model::pool_registry::find(pool);
    const bool known_way = type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR && flags == 0;
    if (found == nullptr || handle == nullptr || !known_way) return CUDA_ERROR_INVALID_VALUE;
    int fd = -1;
    if (const CUresult error = found->sharing.export_descriptor(fd)) return error;
    std::memcpy(handle, &fd, sizeof fd);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool* pool, void* handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
  return guarded_outside_captures([&](model::process&) {
    if (pool == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    switch (type) {
      case CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR:
        return model::ipc_pool::import(static_cast<int>(reinterpret_cast<std::intptr_t>(handle)),
                                       *pool);
      case CU_MEM_HANDLE_TYPE_WIN32: return CUDA_ERROR_NOT_SUPPORTED;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult cuMemPoolExportPointer(CUmemPoolPtrExportData* data, CUdeviceptr address) {
  return guarded_outside_captures([&](model::process&) {
    return data == nullptr ? CUDA_ERROR_INVALID_VALUE : model::ipc_pool::describe(address, *data);
  });
}

CUresult cuMemPoolImportPointer(CUdeviceptr* address, CUmemoryPool pool,
                                CUmemPoolPtrExportData* data) {
  return guarded_outside_captures([&](model::process&) {
    model::memory_pool* found = model::pool_registry::find(pool);
    if (address == nullptr || found == nullptr || data == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return found->sharing.open(*data, *found, *address);
  });
}

}  // namespace weir::embedded::entry
