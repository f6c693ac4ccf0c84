// SPDX-License-Identifier: Apache-2.0
// fill_test.cpp - fills of memory with one value, in stream order.
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::gate;
using test::result_of;

class Fill : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 777;

  template <class T>
  void expect_filled(const T& value) {
    buffer<T> x{s, size};
    fill(s, x, value);
    EXPECT_EQ(contents(s, x), std::vector<T>(size, value));
  }

  device gpu;
  stream s{gpu};
};

TEST_F(Fill, AFillSetsElementsOfOneTwoAndFourBytes) {
  expect_filled<std::uint8_t>(0xab);
  expect_filled<std::int8_t>(-1);
  expect_filled<std::uint16_t>(0xabcd);
  expect_filled<char16_t>(u'\u00e4');
  expect_filled<std::uint32_t>(0xabcd'ef01);
  expect_filled<std::int32_t>(-123'456);
  expect_filled<float>(-1.5f);
}

enum class color : std::uint16_t { red = 0x1234 };
struct pixel {
  std::uint8_t r, g, b, a;
  friend bool operator==(const pixel&, const pixel&) = default;
};

TEST_F(Fill, AFillTakesAnyTrivialTypeOfThoseSizes) {
  expect_filled(color::red);
  expect_filled(pixel{1, 2, 3, 4});
}

TEST_F(Fill, AFillWritesNothingOutsideItsRange) {
  buffer<std::uint8_t> x{s, size};
  fill(s, x, std::uint8_t{0});
  fill(s, std::span{x.data() + 3, 101}, std::uint8_t{0xff});
  const auto out = contents(s, x);
  EXPECT_EQ(out[2], 0);
  EXPECT_EQ(out[3], 0xff);
  EXPECT_EQ(out[103], 0xff);
  EXPECT_EQ(out[104], 0);
  EXPECT_EQ(std::ranges::count(out, 0xff), 101);
}

TEST_F(Fill, AFillTakesAnAddress) {
  pinned_buffer<std::uint32_t> word{2};
  word[1] = 5;
  fill(s, word.data(), 1, 6u);
  s.sync();
  EXPECT_EQ(word[0], 6u);
  EXPECT_EQ(word[1], 5u);
}

TEST_F(Fill, AnEmptyFillQueuesNothing) {
  const fault_table calls;
  fill(s, static_cast<int*>(nullptr), 0, 1);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(Fill, AFillRunsInStreamOrderAndReturnsAtOnce) {
  pinned_buffer<std::uint32_t> word{1};
  word[0] = 0;
  gate held{s};
  fill(s, word, 1u);
  fill(s, word, 2u);
  EXPECT_FALSE(s.done());
  EXPECT_EQ(word[0], 0u);
  held.open();
  s.sync();
  EXPECT_EQ(word[0], 2u);
}

TEST_F(Fill, EachElementSizeHasItsDriverCall) {
  buffer<std::uint8_t> one{s, 4};
  buffer<std::uint16_t> two{s, 4};
  buffer<std::uint32_t> four{s, 4};
  const fault_table calls;
  fill(s, one, std::uint8_t{1});
  fill(s, two, std::uint16_t{1});
  fill(s, four, 1u);
  EXPECT_EQ(calls.count(&driver_table::cuMemsetD8Async), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemsetD16Async), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemsetD32Async), 1);
  EXPECT_EQ(calls.count_all(), 3);
}

TEST_F(Fill, AClosedStreamRefusesFills) {
  stream gone{gpu};
  gone.close();
  pinned_buffer<int> word{1};
  EXPECT_EQ(result_of([&] { fill(gone, word, 1); }), errc::closed);
}

}  // namespace
}  // namespace weir
