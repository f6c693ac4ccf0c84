// SPDX-License-Identifier: Apache-2.0
// buffer_part_test.cpp - parts of buffers: their elements, and the uses of their buffer.
#include <weir/memory/buffer.hpp>
#include <weir/memory/buffer_part.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::contents;
using test::failure_of;
using test::gate;
using test::result_of;

static_assert(std::is_trivially_copyable_v<buffer_part<int>>);
static_assert(std::ranges::enable_borrowed_range<buffer_part<const int>>);
static_assert(std::is_convertible_v<buffer_part<int>, buffer_part<const int>>);
static_assert(!std::is_convertible_v<buffer_part<const int>, buffer_part<int>>);
static_assert(std::is_convertible_v<buffer_part<int>, std::span<int>>);
static_assert(
    std::is_same_v<decltype(std::declval<const buffer<int>&>().first(1)), buffer_part<const int>>);
static_assert(
    std::is_same_v<decltype(std::span{std::declval<pinned_buffer<int>&>()}), std::span<int>>);

class BufferPart : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1000;

  static bool is_held(stream_ref stream) { return !stream.sync_for(std::chrono::milliseconds{5}); }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

TEST_F(BufferPart, APartHasTheElementsThatItNames) {
  buffer<int> x{s, size};
  fill(s, x, 1);
  fill(s, x.first(10), 2);
  fill(s, x.last(20), 3);
  fill(s, x.part(500, 7), 4);
  fill(s, x.part(600, 100).part(10, 90).last(1), 5);
  fill(s, x.part(size, 0), 6);  // no element
  std::vector<int> right(size, 1);
  std::fill_n(right.begin(), 10, 2);
  std::fill_n(right.end() - 20, 20, 3);
  std::fill_n(right.begin() + 500, 7, 4);
  right[699] = 5;
  EXPECT_EQ(contents(s, x), right);
}

TEST_F(BufferPart, APartThatDoesNotFitIsRefused) {
  buffer<int> x{s, size};
  EXPECT_EQ(result_of([&] { static_cast<void>(x.part(size + 1, 0)); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(x.first(size + 1)); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(x.last(size + 1)); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(x.part(1, static_cast<std::size_t>(-1))); }),
            errc::invalid_value);
  const std::optional<error> refused = failure_of([&] { static_cast<void>(x.part(990, 11)); });
  ASSERT_TRUE(refused);
  EXPECT_NE(
      std::string_view{refused->what()}.find("11 elements from number 990 do not fit into 1000"),
      std::string_view::npos)
      << refused->what();
}

TEST_F(BufferPart, APartOfAClosedBufferIsRefused) {
  buffer<int> x{s, size};
  const buffer_part<int> old = x.first(10);
  x.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(x.first(0)); }), errc::closed);
  EXPECT_EQ(result_of([&] { fill(s, old, 1); }), errc::closed);
  EXPECT_EQ(result_of([&] { fill(s, x, 1); }), errc::closed);
}

TEST_F(BufferPart, TheFreeWaitsForAStreamThatUsedAPart) {
  std::optional<buffer<int>> x{std::in_place, s, size};
  pinned_buffer<int> out{10};
  fill(s, *x, 7);
  t.wait(s);
  gate held{t};
  copy(t, x->last(10), out);
  x.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
  EXPECT_EQ(out[9], 7);
}

// The part does not refer to the buffer object.
TEST_F(BufferPart, APartStaysValidWhenItsBufferIsMoved) {
  buffer<int> x{s, size};
  const buffer_part<int> part = x.first(10);
  std::optional<buffer<int>> moved{std::move(x)};
  t.wait(s);
  gate held{t};
  fill(t, part, 1);
  moved.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
}

TEST_F(BufferPart, ABatchMayBeEnqueuedAfterItsBuffersWereMoved) {
  buffer<int> x{s, size};
  pinned_buffer<int> out{size};
  fill(s, x, 7);
  copy_batch batch;
  batch.add(x, out);
  std::optional<buffer<int>> moved{std::move(x)};
  t.wait(s);
  gate held{t};
  batch.enqueue(t);
  moved.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  t.sync();
  s.sync();
  EXPECT_EQ(out[size - 1], 7);
}

TEST_F(BufferPart, PartsOfTwoDevicesAreCopied) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream other{device{1}};
  buffer<int> x{s, size};
  fill(s, x, 4);
  buffer<int> y{other, size};
  fill(other, y, 1);
  other.wait(s);
  gate held{other};
  copy(other, x.first(10), y.last(10));
  x.close();
  EXPECT_TRUE(is_held(s));
  held.open();
  EXPECT_EQ(contents(other, y).back(), 4);
  EXPECT_EQ(contents(other, y).front(), 1);
  s.sync();
}

}  // namespace
}  // namespace weir
