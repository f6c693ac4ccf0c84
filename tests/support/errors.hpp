// SPDX-License-Identifier: Apache-2.0
// support/errors.hpp - the errors that a call throws, as values that a test can compare.
#pragma once

#include <weir/core/error.hpp>

#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace weir::test {

// Returns the weir::error that the call throws, or nothing. Any other exception fails the test.
template <class Call>
[[nodiscard]] std::optional<error> failure_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const error& e) {
    return e;
  }
  return std::nullopt;
}

// Returns the error's code, or success if the call throws nothing.
template <class Call>
[[nodiscard]] errc result_of(Call&& call) {
  const std::optional<error> failure = failure_of(std::forward<Call>(call));
  return failure ? failure->result() : errc::success;
}

// Returns an address as error messages print it.
[[nodiscard]] inline std::string text_of(const void* address) {
  std::ostringstream text;
  text << address;
  return text.str();
}

}  // namespace weir::test
