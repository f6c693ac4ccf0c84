// model/context_limits.hpp - the CU_LIMIT_* of a context.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// What kernels allocate has an end at CU_LIMIT_MALLOC_HEAP_SIZE, the value that was set last in any
// context. Stacks are the host's own, so no other limit limits anything; but each can be asked for,
// takes the values that an H200 takes, and is rounded as there.
//
// Thread safety: all members, from any thread.
class context_limits {
 public:
  context_limits() noexcept { reset(); }

  // To the values that a new context has.
  void reset() noexcept;

  // CUDA_ERROR_INVALID_VALUE for a number that is no limit, CUDA_ERROR_UNSUPPORTED_LIMIT for one
  // that devices no longer have.
  [[nodiscard]] abi::CUresult get(abi::CUlimit which, std::size_t& value) const noexcept;

  // Would set() take the value? The same answers, CUDA_ERROR_NOT_PERMITTED for a limit that can
  // only be read, and CUDA_ERROR_INVALID_VALUE for a value out of range, where it is not brought
  // into range instead.
  [[nodiscard]] static abi::CUresult check(abi::CUlimit which, std::size_t value) noexcept;
  abi::CUresult set(abi::CUlimit which, std::size_t value) noexcept;

 private:
  mutable std::mutex mutex_;
  std::array<std::size_t, abi::CU_LIMIT_MAX> values_{};
};

}  // namespace weir::embedded::model
