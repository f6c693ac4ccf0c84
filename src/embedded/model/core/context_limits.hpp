// SPDX-License-Identifier: Apache-2.0
// model/core/context_limits.hpp - the CU_LIMIT_* values of a context.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// The limits of a context. Only CU_LIMIT_MALLOC_HEAP_SIZE bounds something here: device-side
// allocation, by the last value set in any context. Kernels run on host stacks. All limits can be
// queried and set; ranges and rounding match an H200.
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

  // Returns what set() would return: the errors of get(), CUDA_ERROR_NOT_PERMITTED for a read-only
  // limit, or CUDA_ERROR_INVALID_VALUE for a value above a range that is not clamped.
  [[nodiscard]] static abi::CUresult check(abi::CUlimit limit, std::size_t value) noexcept;
  abi::CUresult set(abi::CUlimit limit, std::size_t value) noexcept;

 private:
  mutable std::mutex mutex_;
  std::array<std::size_t, abi::CU_LIMIT_MAX> values_{};
};

}  // namespace weir::embedded::model
