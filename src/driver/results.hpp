// driver/results.hpp - the names and texts of results, for messages.
#pragma once

#include "driver/abi.hpp"

namespace weir::detail {

// The name of a result ("CUDA_ERROR_INVALID_VALUE") and what cuGetErrorString says of it ("invalid argument").
struct result_words {
  const char* name;
  const char* text;
};

// Null words for a number that results.def does not have.
[[nodiscard]] constexpr result_words known_words_of(int number) noexcept {
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
[[nodiscard]] constexpr result_words words_of(int number) noexcept {
  const result_words known = known_words_of(number);
  return known.name != nullptr ? known : result_words{"a result without a name", "newer than this version of weir"};
}

}  // namespace weir::detail
