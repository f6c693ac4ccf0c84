// model/ipc_memory.hpp - device memory that several processes have at once.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::model {

struct allocation;
class context;

// What cuMemAlloc gives out lies in a store (shared_store.hpp), so that any of it may be opened
// elsewhere at any time, whatever work is under way on it. The process that opens it has it at an
// address of its own; it counts against the device in the process that allocated it alone.
//
// All of it answers in the driver's codes and throws std::bad_alloc. Thread safety: from any
// thread.
namespace ipc_memory {

// cuIpcGetMemHandle: a handle of the allocation that holds an address.
abi::CUresult handle_of(abi::CUdeviceptr address, abi::CUipcMemHandle& out);

// cuIpcOpenMemHandle: the start of the allocation, in this process. Opened again in the same
// context it is the same address, once more; another context of the process cannot have it, too.
abi::CUresult open(context& in, const abi::CUipcMemHandle& handle, abi::CUdeviceptr& out);

// cuIpcCloseMemHandle: once less. The last time it waits for the work of the context that it was
// opened in, and ends.
abi::CUresult close(abi::CUdeviceptr address);

// Ends opened memory whose record is closed, however often it was opened: its context ends.
void forget(allocation& record) noexcept;

}  // namespace ipc_memory

}  // namespace weir::embedded::model
