// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/ipc_pool.hpp - memory pools of other processes, imported by file descriptor.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::model {

class memory_pool;

// The functions in this namespace return the driver's codes and throw std::bad_alloc. They may be
// called from any thread.
namespace ipc_pool {

// cuMemPoolImportFromShareableHandle: imports the pool of a descriptor. The caller still owns the
// descriptor. Importing the pool again returns the first import's handle and increments its import
// count. Returns CUDA_ERROR_UNKNOWN if the descriptor is not that of an exported pool.
abi::CUresult import(int fd, abi::CUmemoryPool& out);

// cuMemPoolDestroy, for an imported pool: undoes one import; undoing the last import destroys the
// pool. Returns CUDA_ERROR_INVALID_VALUE while an allocation of the pool is mapped in this process.
abi::CUresult destroy(memory_pool& imported, abi::CUmemoryPool handle);

// cuMemPoolExportPointer: stores in `out` the data by which other processes open the allocation at
// an address.
abi::CUresult describe(abi::CUdeviceptr address, abi::CUmemPoolPtrExportData& out);

}  // namespace ipc_pool

}  // namespace weir::embedded::model
