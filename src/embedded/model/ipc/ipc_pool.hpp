// model/ipc_pool.hpp - memory pools of other processes, by the descriptors that they hand out.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::model {

class memory_pool;

// All of it answers in the driver's codes and throws std::bad_alloc. Thread safety: from any
// thread.
namespace ipc_pool {

// cuMemPoolImportFromShareableHandle: the pool behind a descriptor, which stays the caller's.
// Imported again it is the same pool, to be destroyed once more. CUDA_ERROR_UNKNOWN for a
// descriptor of anything else.
abi::CUresult import(int fd, abi::CUmemoryPool& out);

// cuMemPoolDestroy of an imported pool, which ends with the last of its imports:
// CUDA_ERROR_INVALID_VALUE while anything of it is in use.
abi::CUresult destroy(memory_pool& imported, abi::CUmemoryPool handle);

// cuMemPoolExportPointer: what another process finds the allocation at an address by.
abi::CUresult describe(abi::CUdeviceptr address, abi::CUmemPoolPtrExportData& out);

}  // namespace ipc_pool

}  // namespace weir::embedded::model
