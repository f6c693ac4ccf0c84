// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/memory.hpp - allocates and frees device, managed, pinned and registered
// memory.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"

namespace weir::embedded::model {

struct allocation;
class context;
class stream;

// Device memory is host memory, and one address serves both sides, so host code can use every
// pointer. The allocation record (allocation.hpp) determines whether a pointer counts as device or
// host memory. Driver calls check that the program respects this.
//
// Functions that return CUresult return the driver's codes. They throw std::bad_alloc if there is
// no memory for the driver's own records. Pointers to results must not be null. Thread safety: all
// functions may be called from any thread.
namespace memory {

// cuMemAlloc: allocates memory of the context's device. Does not block.
abi::CUresult allocate_device(context& owner_context, std::size_t bytes, abi::CUdeviceptr* out);

// cuMemAllocManaged: allocates memory shared by host and device. It counts against no device,
// because it may be larger than a device's memory.
abi::CUresult allocate_managed(context& owner_context, std::size_t bytes, unsigned flags,
                               abi::CUdeviceptr* out);

// cuMemFree: frees device, managed, pooled, imported or graph memory by its start; ignores null.
// Waits for the work of the context that owns the memory, unless host_waits::least is configured.
// Does not wait for pooled and graph memory.
abi::CUresult free_device(abi::CUdeviceptr address);

// cuMemFreeAsync: like free_device(), in stream order. Work submitted to the stream before the free
// may still use the memory. Returns CUDA_ERROR_NOT_SUPPORTED for managed and imported memory.
abi::CUresult free_async(abi::CUdeviceptr address, stream& target_stream);

// cuMemHostAlloc: allocates pinned host memory. For 0 bytes, sets `*out` to null and returns
// CUDA_SUCCESS.
abi::CUresult allocate_pinned(context& owner_context, std::size_t bytes, unsigned flags,
                              void** out);

// cuMemFreeHost: frees pinned memory, and waits like free_device(). Ignores null.
abi::CUresult free_pinned(void* pointer);

// cuMemHostRegister: makes the program's own memory pinned.
abi::CUresult register_host(context& owner_context, void* pointer, std::size_t bytes,
                            unsigned flags);
// cuMemHostUnregister: waits like free_device(), then makes the memory pageable again.
abi::CUresult unregister_host(void* pointer);

// Frees memory of any kind whose record is closed. Registered memory belongs to the program, so
// only its record is removed. `awaited`: the context for whose work the caller has waited, or null.
void free_record(allocation& record, const context* awaited) noexcept;

// Like free_record(), but for memory that submitted work may still use: frees it when no work of
// any stream is left, and never blocks. The memory stops counting against its device at once, so
// the program may allocate as much again.
void free_when_idle(allocation& record) noexcept;

// Frees all memory that belongs to a context whose work is complete.
void release_context(context& closed) noexcept;

}  // namespace memory

}  // namespace weir::embedded::model
