// SPDX-License-Identifier: Apache-2.0
// embedded/model/kernel/kernel_arguments.hpp - the arguments of a launch, as passed and as stored.
#pragma once

#include <cstddef>
#include <memory>

#include "driver/abi.hpp"
#include "driver/abi/module_abi.h"

namespace weir::embedded::model {

// Refers to the arguments of a launch call: a pointer to each argument, or a buffer with all of
// them. Valid during the call.
class kernel_arguments {
 public:
  kernel_arguments() = default;

  // Reads both forms of cuLaunchKernel. Returns CUDA_ERROR_INVALID_VALUE if both are given, if
  // arguments of a kernel with parameters are missing, or if `extra` is malformed. Returns
  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES for a buffer larger than the kernel's parameters. A smaller
  // buffer, unless it is empty, is padded with zeros.
  static abi::CUresult read(const weir_kernel& kernel, void* const* params, void* const* extra,
                            kernel_arguments& out) noexcept;

  // Returns the size in bytes of a buffer with all arguments.
  [[nodiscard]] static std::size_t bytes(const weir_kernel& kernel) noexcept;
  // Returns the alignment in bytes that such a buffer needs.
  [[nodiscard]] static std::size_t alignment(const weir_kernel& kernel) noexcept;

  // Copies the arguments into a buffer of bytes() bytes.
  void copy_to(const weir_kernel& kernel, std::byte* destination) const noexcept;

  // Stores a pointer to each argument in `out`. `values` is a buffer that copy_to() has filled.
  static void point_into(const weir_kernel& kernel, const std::byte* values,
                         const void** out) noexcept;

 private:
  const void* const* each_ = nullptr;
  const std::byte* buffer_ = nullptr;
  std::size_t buffer_bytes_ = 0;  // bytes in the buffer
};

// Owns copies of arguments.
class stored_arguments {
 public:
  // Throws std::bad_alloc.
  stored_arguments(const weir_kernel& kernel, const kernel_arguments& arguments);

  // Returns an array with a pointer to each argument.
  [[nodiscard]] const void** each() const noexcept { return each_.get(); }

 private:
  std::unique_ptr<const void*[]> each_;
  std::unique_ptr<std::byte[]> values_;
};

}  // namespace weir::embedded::model
