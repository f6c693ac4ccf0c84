// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/memory.cpp - cuMemAlloc, cuMemFree and queries about device memory, and
// cuMemHost*: host memory that the driver allocates or registers.
#include "embedded/model/memory/memory.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

namespace weir::embedded::entry {

namespace {

// Finds the allocation that contains a pointer, if it is host or managed memory. Returns null for
// device memory and unknown memory.
const model::allocation* find_host_memory(const void* pointer) {
  const model::allocation* found =
      model::address_map::find(reinterpret_cast<std::uintptr_t>(pointer));
  if (found == nullptr) return nullptr;
  const bool managed = found->kind == model::memory_kind::managed ||
                       found->kind == model::memory_kind::managed_variable;
  return found->on_host || managed ? found : nullptr;
}

}  // namespace

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return guarded_outside_host_functions(with_current_context([&](model::context& context) {
    if (free != nullptr) *free = context.owner().free_memory();
    if (total != nullptr) *total = context.owner().total_memory();
    return CUDA_SUCCESS;
  }));
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  const auto allocate = [&](model::context& context) {
    return address != nullptr && bytes != 0
               ? model::memory::allocate_device(context.base(), bytes, address)
               : CUDA_ERROR_INVALID_VALUE;
  };
  return guarded([&] {
    if (address != nullptr) *address = 0;  // also for a call that fails
    return guarded_in_context_outside_captures(allocate);
  });
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                            unsigned element) {
  constexpr std::size_t unit = 512;  // as on an H200
  model::context* context = nullptr;
  const CUresult usable = guarded([&] { return current_context(context); });
  if (usable != CUDA_SUCCESS) return usable;
  const bool known_element = element == 4 || element == 8 || element == 16;
  if (address == nullptr || pitch == nullptr || width == 0 || height == 0 || !known_element) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::size_t row = 0;
  std::size_t bytes = 0;
  if (__builtin_add_overflow(width, unit - 1, &row)) return CUDA_ERROR_OUT_OF_MEMORY;
  row -= row % unit;
  if (__builtin_mul_overflow(row, height, &bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUresult status = cuMemAlloc_v2(address, bytes);
  if (status == CUDA_SUCCESS) *pitch = row;
  return status;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return guarded_outside_captures(
      [&] { return device_failure_or(model::memory::free_device(address)); });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  return guarded_outside_host_functions([&] {
    if (base == nullptr && size == nullptr) return CUDA_SUCCESS;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    const model::allocation* found = model::address_map::find(address);
    if (found == nullptr || !is_accessible(*context, *found, address)) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = found->start();
    if (size != nullptr) *size = found->bytes.load(std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  const auto allocate = [&](model::context& context) {
    return pointer != nullptr
               ? model::memory::allocate_pinned(context.base(), bytes, flags, pointer)
               : CUDA_ERROR_INVALID_VALUE;
  };
  return guarded([&] {
    if (pointer != nullptr) *pointer = nullptr;  // also for a call that fails
    return guarded_in_context_outside_captures(allocate);
  });
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  return cuMemHostAlloc(pointer, bytes, 0);
}

CUresult cuMemFreeHost(void* pointer) {
  return guarded_outside_captures(
      [&] { return device_failure_or(model::memory::free_pinned(pointer)); });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned flags) {
  return guarded_outside_host_functions(with_current_context([&](model::context&) {
    const model::allocation* const found = find_host_memory(pointer);
    if (address == nullptr || flags != 0 || found == nullptr || !found->on_host)
      return CUDA_ERROR_INVALID_VALUE;
    return store(address, reinterpret_cast<CUdeviceptr>(pointer));
  }));
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return guarded_outside_host_functions([&] {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    const model::allocation* found = find_host_memory(pointer);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return store(flags, found->flags);
  });
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  return guarded_in_context_outside_captures([&](model::context& context) {
    return model::memory::register_host(context.base(), pointer, bytes, flags);
  });
}

CUresult cuMemHostUnregister(void* pointer) {
  return guarded_outside_captures([&] { return model::memory::unregister_host(pointer); });
}

}  // namespace weir::embedded::entry
