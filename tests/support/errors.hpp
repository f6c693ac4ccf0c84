// support/errors.hpp - what a call throws, as values that a test can compare.
#pragma once

#include <weir/core/error.hpp>

#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace weir::test {

// The weir::error that the call throws; none if it throws nothing. Anything else that it throws is
// the test's failure.
template <class Call>
[[nodiscard]] std::optional<error> failure_of(Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const error& e) {
    return e;
  }
  return std::nullopt;
}

// Its code; success if it throws nothing.
template <class Call>
[[nodiscard]] errc result_of(Call&& call) {
  const std::optional<error> failure = failure_of(std::forward<Call>(call));
  return failure ? failure->result() : errc::success;
}

// An address as errors tell it.
[[nodiscard]] inline std::string text_of(const void* address) {
  std::ostringstream text;
  text << address;
  return text.str();
}

}  // namespace weir::test
