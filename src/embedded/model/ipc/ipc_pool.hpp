// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/ipc_pool.hpp - memory pools of other processes, imported by file descriptor.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::model {

class memory_pool;

// All functions return the driver's codes and throw std::bad_alloc. Thread safety: all functions
// may be called from any thread.
namespace ipc_pool {

// cuMemPoolImportFromShareableHandle: imports the pool of a descriptor, which the caller keeps.
// Importing it again returns that pool and increments its import count. Returns CUDA_ERROR_UNKNOWN
// for a descriptor of another object.
abi::CUresult import(int fd, abi::CUmemoryPool& out);

// cuMemPoolDestroy, for an imported pool: undoes one import; undoing the last import destroys the
// pool. Returns CUDA_ERROR_INVALID_VALUE while any of its memory is in use.
abi::CUresult destroy(memory_pool& imported, abi::CUmemoryPool handle);

// cuMemPoolExportPointer: describes the allocation at an address for other processes.
abi::CUresult describe(abi::CUdeviceptr address, abi::CUmemPoolPtrExportData& out);

}  // namespace ipc_pool

}  // namespace weir::embedded::model
