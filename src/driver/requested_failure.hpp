// SPDX-License-Identifier: Apache-2.0
// driver/requested_failure.hpp - the driver call that the environment makes fail.
#pragma once

#include "driver/abi.hpp"

#include <atomic>
#include <string_view>

namespace weir::detail {

// WEIR_FAIL_CALL=N makes the N-th driver call of the process fail with CUDA_ERROR_OUT_OF_MEMORY,
// and prints a line to standard error then. Queries of the driver itself (its version, the texts of
// errors, addresses of functions) do not count.
inline constinit std::atomic<bool> failure_is_requested{false};

// Reads the variable. Returns false if its value is invalid; no call fails then.
[[nodiscard]] bool read_requested_failure() noexcept;

// Counts a call of the function with this name. Returns CUDA_SUCCESS, or the code that the call
// returns instead of doing anything. Called only if failure_is_requested.
[[nodiscard]] abi::CUresult count_call(std::string_view function) noexcept;

// Like count_call(), for any call. Cost without a request: one load.
[[nodiscard]] inline abi::CUresult requested_failure(std::string_view function) noexcept {
  return failure_is_requested.load(std::memory_order_relaxed) ? count_call(function)
                                                              : abi::CUDA_SUCCESS;
}

}  // namespace weir::detail
