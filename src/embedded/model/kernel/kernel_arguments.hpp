// model/kernel_arguments.hpp - the arguments of a launch, as a program passes them and as they are
// kept.
#pragma once

#include <cstddef>
#include <memory>

#include "driver/abi.hpp"
#include "embedded/kernel/image/module_abi.h"

namespace weir::embedded::model {

// Where the values of a call are: a pointer to each, or all of them in a buffer. Valid during the
// call.
class kernel_arguments {
 public:
  kernel_arguments() = default;

  // Reads the two forms of cuLaunchKernel. CUDA_ERROR_INVALID_VALUE where both are given, or none
  // and the kernel has parameters, or what is given is not as it should be;
  // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES for a buffer with more than the kernel takes. One with less
  // is taken, and the rest is 0.
  static abi::CUresult read(const weir_kernel& of, void* const* params, void* const* extra,
                            kernel_arguments& out) noexcept;

  // How many bytes they take where they lie as in a buffer, and how they have to be aligned for
  // that.
  [[nodiscard]] static std::size_t bytes(const weir_kernel& of) noexcept;
  [[nodiscard]] static std::size_t alignment(const weir_kernel& of) noexcept;

  // Copies them to where they lie as in a buffer: of bytes() bytes.
  void copy_to(const weir_kernel& of, std::byte* to) const noexcept;

  // A pointer to each of those that lie so.
  static void point_into(const weir_kernel& of, const std::byte* values, const void** out) noexcept;

 private:
  const void* const* each_ = nullptr;
  const std::byte* buffer_ = nullptr;
  std::size_t buffer_bytes_ = 0;  // bytes in the buffer
};

// Copies of them, where they stay for as long as one likes.
class stored_arguments {
 public:
  // Throws std::bad_alloc.
  stored_arguments(const weir_kernel& of, const kernel_arguments& arguments);

  // A pointer to each.
  [[nodiscard]] const void** each() const noexcept { return each_.get(); }

 private:
  std::unique_ptr<const void*[]> each_;
  std::unique_ptr<std::byte[]> values_;
};

}  // namespace weir::embedded::model
