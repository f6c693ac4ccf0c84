// driver/results.hpp - the names and texts of results, for messages, and which of them are the end
// of a context.
#pragma once

#include "driver/abi.hpp"

namespace weir::detail {

// The name of a result ("CUDA_ERROR_INVALID_VALUE") and what cuGetErrorString says of it ("invalid
// argument").
struct result_text {
  const char* name;
  const char* text;
};

// Null words for a number that results.def does not have.
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

// For any number: one that results.def does not have comes from a newer driver.
[[nodiscard]] constexpr result_text result_text_of(int number) noexcept {
  const result_text known = known_result_text_of(number);
  return known.name != nullptr
             ? known
             : result_text{"a result without a name", "newer than this version of weir"};
}

// Did work fail so that its context is lost, and with it the process? Every later call on the
// context answers the same.
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
