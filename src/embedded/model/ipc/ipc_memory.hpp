// SPDX-License-Identifier: Apache-2.0
// embedded/model/ipc/ipc_memory.hpp - device memory that several processes share.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::model {

struct allocation;
class context;

// Memory of cuMemAlloc lies in a store: shared memory that holds device memory (shared_store.hpp).
// Other processes may therefore open it at any time, even while work uses it. Each opening process
// maps the memory at an address of its own. The memory counts only against the device of the
// allocating process.
//
// Functions that return CUresult return the driver's codes and throw std::bad_alloc. Thread safety:
// all functions may be called from any thread.
namespace ipc_memory {

// cuIpcGetMemHandle: returns a handle of the allocation that contains an address.
abi::CUresult handle_of(abi::CUdeviceptr address, abi::CUipcMemHandle& out);

// cuIpcOpenMemHandle: gets the start of the allocation in this process. Opening the allocation
// again in this context returns this address and increments the open count. Another context of the
// process cannot open it meanwhile.
abi::CUresult open(context& owner_context, const abi::CUipcMemHandle& handle,
                   abi::CUdeviceptr& out);

// cuIpcCloseMemHandle: undoes one open(). The call that undoes the last open() waits for the work
// of the context, then unmaps the memory.
abi::CUresult close(abi::CUdeviceptr address);

// Unmaps opened memory, regardless of its open count. `record` is the memory's record in the
// address map, which the caller has closed (allocation::close()). Called for the last close(), and
// when the context is destroyed. `awaited`: the context for whose work the caller has waited.
void forget(allocation& record, const context* awaited) noexcept;

}  // namespace ipc_memory

}  // namespace weir::embedded::model
