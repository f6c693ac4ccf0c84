// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/ipc_memory.hpp - device memory that several processes share.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::model {

struct allocation;
class context;

// Memory of cuMemAlloc lies in a store (shared_store.hpp), so other processes may open it at any
// time, whatever work uses it. An opening process maps it at its own address. It counts only
// against the device of the allocating process.
//
// All functions return the driver's codes and throw std::bad_alloc. Thread safety: all functions
// may be called from any thread.
namespace ipc_memory {

// cuIpcGetMemHandle: returns a handle of the allocation that contains an address.
abi::CUresult handle_of(abi::CUdeviceptr address, abi::CUipcMemHandle& out);

// cuIpcOpenMemHandle: returns the start of the allocation in this process. Opening it again in a
// context returns that address and increments its open count; another context of the process cannot
// open it.
abi::CUresult open(context& owner_context, const abi::CUipcMemHandle& handle,
                   abi::CUdeviceptr& out);

// cuIpcCloseMemHandle: undoes one open(). The last one waits for the work of the context, then
// unmaps the memory.
abi::CUresult close(abi::CUdeviceptr address);

// Unmaps opened memory whose record is closed, however often it was opened, because its context is
// being destroyed.
void forget(allocation& record) noexcept;

}  // namespace ipc_memory

}  // namespace weir::embedded::model
