// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/device_memory.cpp - cuMemAlloc, cuMemFree and queries about device memory.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/memory.hpp"

namespace weir::embedded::entry {

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return guarded_outside_host_functions(with_current_context([&](model::context& context) {
    if (free != nullptr) *free = context.owner().free_memory();
    if (total != nullptr) *total = context.owner().total_memory();
    return CUDA_SUCCESS;
  }));
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return guarded_outside_captures(with_current_context([&](model::context& context) {
    if (address == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (bytes == 0) {
      *address = 0;
      return CUDA_ERROR_INVALID_VALUE;
    }
    return model::memory::allocate_device(context.base(), bytes, address);
  }));
}

CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height,
                            unsigned element) {
  constexpr std::size_t unit = 512;
  model::context* context = nullptr;
  const CUresult usable = guarded([&](model::process&) { return current_context(context); });
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
      [&](model::process&) { return device_failure_or(model::memory::free_device(address)); });
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr address) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (base == nullptr && size == nullptr) return CUDA_SUCCESS;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    const model::allocation* found = model::address_map::find(address);
    if (found == nullptr || !is_accessible(p, *context, *found, address))
      return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = found->start();
    if (size != nullptr) *size = found->bytes.load(std::memory_order_relaxed);
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
