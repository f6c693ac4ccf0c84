// model/memory.hpp - memory of every kind: how it comes about and how it ends.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"
#include "embedded/model/memory/address_map.hpp"

namespace weir::embedded::model {

class context;
class stream;

// Device memory is host memory at the same address, so that every pointer is good on either side;
// which side a pointer belongs to is a matter of record (allocation.hpp), and the calls keep to it.
//
// What follows answers in the driver's codes and throws std::bad_alloc where the driver's own
// records do not fit. Pointers to results are not null. Thread safety: all of it, from any thread.
namespace memory {

// cuMemAlloc: memory of the context's device. Waits for nothing.
abi::CUresult allocate_device(context& in, std::size_t bytes, abi::CUdeviceptr* out);

// cuMemAllocManaged: memory that host and device share. It counts against no device, because it may
// be larger than one.
abi::CUresult allocate_managed(context& in, std::size_t bytes, unsigned flags,
                               abi::CUdeviceptr* out);

// cuMemFree: frees device, managed or pooled memory by its start; null is nothing. Waits for the
// work of the context that the memory belongs to; for pooled memory and that of graphs it does not.
abi::CUresult free_device(abi::CUdeviceptr address);

// cuMemFreeAsync: the same in the order of a stream. What was submitted to it before may still use
// the memory.
abi::CUresult free_async(abi::CUdeviceptr address, stream& in);

// cuMemHostAlloc: host memory that copies need not stage. No bytes give success and null.
abi::CUresult allocate_pinned(context& in, std::size_t bytes, unsigned flags, void** out);

// cuMemFreeHost: waits for the work of the context, then frees. Null is nothing.
abi::CUresult free_pinned(void* pointer);

// cuMemHostRegister and cuMemHostUnregister: makes the program's own memory pinned, and ordinary
// again.
abi::CUresult register_host(context& in, void* pointer, std::size_t bytes, unsigned flags);
abi::CUresult unregister_host(void* pointer);

// Frees all that belongs to a context. Its work is complete.
void release_context(context& closed) noexcept;

}  // namespace memory

}  // namespace weir::embedded::model
