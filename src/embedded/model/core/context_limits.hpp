// SPDX-License-Identifier: Apache-2.0
// model/core/context_limits.hpp - the CU_LIMIT_* values of a context.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// The limits of a context. CU_LIMIT_MALLOC_HEAP_SIZE limits device-side allocation, and
// CU_LIMIT_STACK_SIZE the stacks of kernels (kernel::set_stack_limit()). Both apply to all
// contexts: the value that was set last in any context counts. The other limits have no effect.
// They can still be queried and set as on an H200, with its ranges and rounding.
//
// Thread safety: all members may be called from any thread.
class context_limits {
 public:
  context_limits() noexcept { reset(); }

  // Sets all limits to the values of a new context.
  void reset() noexcept;

  // Returns CUDA_ERROR_INVALID_VALUE for an unknown limit, and CUDA_ERROR_UNSUPPORTED_LIMIT for a
  // limit that devices no longer have.
  [[nodiscard]] abi::CUresult get(abi::CUlimit limit, std::size_t& value) const noexcept;

  // Returns the result that set() would have: an error of get(), CUDA_ERROR_NOT_PERMITTED for a
  // read-only limit, or CUDA_ERROR_INVALID_VALUE for a value above the maximum. For some limits,
  // set() reduces such a value to the maximum instead.
  [[nodiscard]] static abi::CUresult check(abi::CUlimit limit, std::size_t value) noexcept;
  abi::CUresult set(abi::CUlimit limit, std::size_t value) noexcept;

 private:
  mutable std::mutex mutex_;
  std::array<std::size_t, abi::CU_LIMIT_MAX> values_{};
};

}  // namespace weir::embedded::model
