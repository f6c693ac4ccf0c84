// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/kernel_arguments.cpp - reads and copies kernel arguments.
#include "embedded/model/kernel/kernel_arguments.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace weir::embedded::model {

using namespace abi;

CUresult kernel_arguments::read(const weir_kernel& kernel, void* const* params, void* const* extra,
                                kernel_arguments& out) noexcept {
  if (params != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = {};
  if (extra == nullptr) {
    if (params == nullptr)
      return kernel.parameter_count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    out.each_ = params;
    const bool missing = std::any_of(params, params + kernel.parameter_count,
                                     [](void* argument) { return argument == nullptr; });
    return missing ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  }
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      out.buffer_ = static_cast<const std::byte*>(extra[1]);
    } else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr) {
      out.buffer_bytes_ = *static_cast<const std::size_t*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  const std::size_t needed = bytes(kernel);
  if (out.buffer_bytes_ > needed) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  return needed == 0 || (out.buffer_ != nullptr && out.buffer_bytes_ != 0)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

std::size_t kernel_arguments::bytes(const weir_kernel& kernel) noexcept {
  if (kernel.parameter_count == 0) return 0;
  const weir_parameter& last = kernel.parameters[kernel.parameter_count - 1];
  return std::size_t{last.offset} + last.size;
}

std::size_t kernel_arguments::alignment(const weir_kernel& kernel) noexcept {
  std::size_t maximum = 1;
  for (unsigned i = 0; i < kernel.parameter_count; ++i)
    maximum = std::max<std::size_t>(maximum, kernel.parameters[i].alignment);
  return maximum;
}

void kernel_arguments::copy_to(const weir_kernel& kernel, std::byte* destination) const noexcept {
  if (each_ == nullptr) {
    if (const std::size_t total_bytes = bytes(kernel); total_bytes != 0) {
      std::memcpy(destination, buffer_, buffer_bytes_);
      std::memset(destination + buffer_bytes_, 0, total_bytes - buffer_bytes_);
    }
    return;
  }
  for (unsigned i = 0; i < kernel.parameter_count; ++i) {
    std::memcpy(destination + kernel.parameters[i].offset, each_[i], kernel.parameters[i].size);
  }
}

void kernel_arguments::point_into(const weir_kernel& kernel, const std::byte* values,
                                  const void** out) noexcept {
  for (unsigned i = 0; i < kernel.parameter_count; ++i)
    out[i] = values + kernel.parameters[i].offset;
}

// Aligns the buffer explicitly, because kernels may need a larger alignment than new provides.
stored_arguments::stored_arguments(const weir_kernel& kernel, const kernel_arguments& arguments)
    : each_{std::make_unique<const void*[]>(kernel.parameter_count)} {
  const std::size_t alignment = kernel_arguments::alignment(kernel);
  values_ = std::make_unique<std::byte[]>(kernel_arguments::bytes(kernel) + alignment - 1);
  const auto first = reinterpret_cast<std::uintptr_t>(values_.get());
  std::byte* const destination = values_.get() + (alignment - first % alignment) % alignment;
  arguments.copy_to(kernel, destination);
  kernel_arguments::point_into(kernel, destination, each_.get());
}

}  // namespace weir::embedded::model
