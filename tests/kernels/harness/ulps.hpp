// SPDX-License-Identifier: Apache-2.0
// ulps.hpp - the distance between results of a kernel and of its reference.
#pragma once

#include <bit>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

namespace weir::test {

// Returns the number of representable values from one to the other. Zeros are equal, and so are all
// NaNs; the distance between a NaN and a number is the maximum.
template <std::floating_point F>
[[nodiscard]] std::uint64_t ulps_between(F a, F b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  if (std::isnan(a) || std::isnan(b)) return std::numeric_limits<std::uint64_t>::max();
  using bits = std::conditional_t<sizeof(F) == 4, std::uint32_t, std::uint64_t>;
  constexpr bits sign = bits{1} << (8 * sizeof(F) - 1);
  const auto ordered_bits = [](F value) -> std::uint64_t {  // increases with the value
    const auto raw = std::bit_cast<bits>(value);
    return (raw & sign) != 0 ? static_cast<bits>(~raw) : static_cast<bits>(raw | sign);
  };
  const std::uint64_t x = ordered_bits(a);
  const std::uint64_t y = ordered_bits(b);
  return x > y ? x - y : y - x;
}

template <class T>
[[nodiscard]] std::string to_text(const T& value) {
  std::ostringstream text;
  if constexpr (std::is_floating_point_v<T>) text.precision(std::numeric_limits<T>::max_digits10);
  if constexpr (requires { text << +value; }) {
    text << +value;
  } else {
    text << testing::PrintToString(value);
  }
  return text.str();
}

// Expects all elements to be bitwise equal.
template <class T>
void expect_equal(const std::vector<T>& actual, const std::vector<T>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    bool same = false;
    if constexpr (std::is_floating_point_v<T>) {
      using bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
      same = std::bit_cast<bits>(actual[i]) == std::bit_cast<bits>(expected[i]);
    } else {
      same = actual[i] == expected[i];
    }
    if (!same && wrong++ == 0) first = i;
  }
  if (wrong == 0) return;
  ADD_FAILURE() << wrong << " of " << actual.size() << " elements differ, the first is [" << first
                << "]: it is " << to_text(actual[first]) << ", expected "
                << to_text(expected[first]);
}

// Expects all elements to be within `ulps` ulps of the expected ones.
template <std::floating_point F>
void expect_within(std::uint64_t ulps, const std::vector<F>& actual,
                   const std::vector<F>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  std::uint64_t furthest = 0;
  std::size_t where = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const std::uint64_t distance = ulps_between(actual[i], expected[i]);
    if (distance > furthest) {
      furthest = distance;
      where = i;
    }
  }
  if (furthest <= ulps) return;
  ADD_FAILURE() << "[" << where << "] is " << furthest << " ulps off, more than " << ulps
                << ": it is " << to_text(actual[where]) << ", expected "
                << to_text(expected[where]);
}

}  // namespace weir::test
