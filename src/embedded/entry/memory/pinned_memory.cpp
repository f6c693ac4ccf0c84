// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/pinned_memory.cpp - cuMemHost*: host memory that the driver allocates or
// registers.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/memory.hpp"

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

CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags) {
  return guarded_outside_captures(with_current_context([&](model::context& context) {
    if (pointer == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return model::memory::allocate_pinned(context.base(), bytes, flags, pointer);
  }));
}

CUresult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  return cuMemHostAlloc(pointer, bytes, 0);
}

CUresult cuMemFreeHost(void* pointer) {
  return guarded_outside_captures(
      [&](model::process&) { return device_failure_or(model::memory::free_pinned(pointer)); });
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned flags) {
  return guarded_outside_host_functions(with_current_context([&](model::context&) {
    const model::allocation* const found = find_host_memory(pointer);
    if (address == nullptr || flags != 0 || found == nullptr || !found->on_host)
      return CUDA_ERROR_INVALID_VALUE;
    *address = reinterpret_cast<CUdeviceptr>(pointer);
    return CUDA_SUCCESS;
  }));
}

CUresult cuMemHostGetFlags(unsigned* flags, void* pointer) {
  return guarded_outside_host_functions([&](model::process&) {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    const model::allocation* found = find_host_memory(pointer);
    if (found == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = found->flags;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned flags) {
  return guarded_outside_captures(with_current_context([&](model::context& context) {
    return model::memory::register_host(context.base(), pointer, bytes, flags);
  }));
}

CUresult cuMemHostUnregister(void* pointer) {
  return guarded_outside_captures(
      [&](model::process&) { return model::memory::unregister_host(pointer); });
}

}  // namespace weir::embedded::entry
