// SPDX-License-Identifier: Apache-2.0
// driver/results.hpp - the names and texts of results, and which of them make a context unusable.
#pragma once

#include "driver/abi.hpp"

namespace weir::detail {

// The name of a result ("CUDA_ERROR_INVALID_VALUE") and its text from cuGetErrorString ("invalid
// argument").
struct result_text {
  const char* name;
  const char* text;
};

// Returns null pointers for a number that is not in results.def.
[[nodiscard]] constexpr result_text known_result_text_of(int number) noexcept {
  switch (number) {
#define WEIR_RESULT(symbol, value, errc, says) \
  case value:                                  \
    return {#symbol, says};
#include "driver/results.def"
#undef WEIR_RESULT
    default: return {nullptr, nullptr};
  }
}

// Returns a text for any number. A number that is not in results.def comes from a newer driver.
[[nodiscard]] constexpr result_text result_text_of(int number) noexcept {
  const result_text entry = known_result_text_of(number);
  return entry.name != nullptr
             ? entry
             : result_text{"a result without a name", "newer than this version of weir"};
}

// Returns true if this error of asynchronous work makes the context unusable: every later call on
// it returns the error.
[[nodiscard]] constexpr bool loses_context(abi::CUresult result) noexcept {
  switch (result) {
    case abi::CUDA_ERROR_ILLEGAL_ADDRESS:
    case abi::CUDA_ERROR_LAUNCH_TIMEOUT:
    case abi::CUDA_ERROR_ASSERT:
    case abi::CUDA_ERROR_HARDWARE_STACK_ERROR:
    case abi::CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case abi::CUDA_ERROR_MISALIGNED_ADDRESS:
    case abi::CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case abi::CUDA_ERROR_INVALID_PC:
    case abi::CUDA_ERROR_LAUNCH_FAILED: return true;
    default: return false;
  }
}

}  // namespace weir::detail
