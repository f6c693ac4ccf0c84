// model/kernel_arguments.cpp - reading and copying arguments.
#include "embedded/model/kernel/kernel_arguments.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace weir::embedded::model {

using namespace abi;

CUresult kernel_arguments::read(const weir_kernel& of, void* const* params, void* const* extra,
                                kernel_arguments& out) noexcept {
  if (params != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = {};
  if (extra == nullptr) {
    if (params == nullptr) return of.parameter_count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    out.each_ = params;
    const bool missing = std::any_of(params, params + of.parameter_count,
                                     [](void* each) { return each == nullptr; });
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
  const std::size_t needed = bytes(of);
  if (out.buffer_bytes_ > needed) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  return needed == 0 || (out.buffer_ != nullptr && out.buffer_bytes_ != 0)
             ? CUDA_SUCCESS
             : CUDA_ERROR_INVALID_VALUE;
}

std::size_t kernel_arguments::bytes(const weir_kernel& of) noexcept {
  if (of.parameter_count == 0) return 0;
  const weir_parameter& last = of.parameters[of.parameter_count - 1];
  return std::size_t{last.offset} + last.size;
}

std::size_t kernel_arguments::alignment(const weir_kernel& of) noexcept {
  std::size_t most = 1;
  for (unsigned i = 0; i < of.parameter_count; ++i)
    most = std::max<std::size_t>(most, of.parameters[i].alignment);
  return most;
}

void kernel_arguments::copy_to(const weir_kernel& of, std::byte* to) const noexcept {
  if (each_ == nullptr) {
    if (const std::size_t all = bytes(of); all != 0) {
      std::memcpy(to, buffer_, buffer_bytes_);
      std::memset(to + buffer_bytes_, 0, all - buffer_bytes_);
    }
    return;
  }
  for (unsigned i = 0; i < of.parameter_count; ++i) {
    std::memcpy(to + of.parameters[i].offset, each_[i], of.parameters[i].size);
  }
}

void kernel_arguments::point_into(const weir_kernel& of, const std::byte* values,
                                  const void** out) noexcept {
  for (unsigned i = 0; i < of.parameter_count; ++i) out[i] = values + of.parameters[i].offset;
}

// Aligned by hand: kernels may ask for more than new gives.
stored_arguments::stored_arguments(const weir_kernel& of, const kernel_arguments& arguments)
    : each_{std::make_unique<const void*[]>(of.parameter_count)} {
  const std::size_t alignment = kernel_arguments::alignment(of);
  values_ = std::make_unique<std::byte[]>(kernel_arguments::bytes(of) + alignment - 1);
  const auto first = reinterpret_cast<std::uintptr_t>(values_.get());
  std::byte* const to = values_.get() + (alignment - first % alignment) % alignment;
  arguments.copy_to(of, to);
  kernel_arguments::point_into(of, to, each_.get());
}

}  // namespace weir::embedded::model
