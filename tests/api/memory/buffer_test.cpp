// SPDX-License-Identifier: Apache-2.0
// buffer_test.cpp - device memory in stream order: allocated, moved, freed.
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::failure_of;
using test::result_of;

static_assert(!std::is_copy_constructible_v<buffer<int>> &&
              std::is_nothrow_move_constructible_v<buffer<int>>);
static_assert(!std::is_default_constructible_v<buffer<int>>);

class Buffer : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;

  device gpu;
  stream s{gpu};
  stream t{gpu};
  pinned_buffer<std::uint32_t> host{size};
};

TEST_F(Buffer, ABufferHoldsTheValuesWrittenToIt) {
  buffer<std::uint32_t> x{s, size};
  EXPECT_NE(x.data(), nullptr);
  EXPECT_EQ(x.size(), size);
  EXPECT_EQ(x.size_bytes(), size * sizeof(std::uint32_t));
  EXPECT_FALSE(x.empty());
  EXPECT_EQ(x.stream(), s.ref());
  fill(s, x, 0xabcd'1234u);
  EXPECT_EQ(contents(s, x), std::vector<std::uint32_t>(size, 0xabcd'1234u));
}

TEST_F(Buffer, AnEmptyBufferOwnsNothingAndMakesNoDriverCall) {
  const fault_table calls;
  {
    buffer<int> x{s, 0};
    EXPECT_TRUE(x.empty());
    EXPECT_EQ(x.data(), nullptr);
    EXPECT_FALSE(x.closed());
    fill(s, x, 1);
    buffer<int> y{t, 0};
    copy(t, x, y);
  }
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(Buffer, MovingMakesNoDriverCall) {
  buffer<int> x{s, size};
  int* const address = x.data();
  const fault_table calls;
  buffer<int> y = std::move(x);
  EXPECT_TRUE(x.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  EXPECT_EQ(x.data(), nullptr);
  EXPECT_EQ(x.size(), 0u);
  EXPECT_EQ(y.data(), address);
  x = std::move(y);
  EXPECT_EQ(x.data(), address);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(Buffer, AssigningFreesTheEarlierMemory) {
  buffer<int> x{s, size};
  const fault_table calls;
  x = buffer<int>{t, size};
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
  EXPECT_EQ(x.stream(), t.ref());
}

// Rule 158.
TEST_F(Buffer, AClosedBufferThrowsClosed) {
  buffer<std::uint32_t> x{s, size};
  const buffer<std::uint32_t> y{s, size};
  x.close();
  x.close();
  EXPECT_TRUE(x.closed());
  EXPECT_EQ(result_of([&] { copy(s, x, host); }), errc::closed);
  EXPECT_EQ(result_of([&] { copy(s, host, x); }), errc::closed);
  EXPECT_EQ(result_of([&] { fill(s, x, 1u); }), errc::closed);
  EXPECT_EQ(result_of([&] { x.used_on(t); }), errc::closed);
  EXPECT_EQ(result_of([&] { x.set_stream(t); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(x.release()); }), errc::closed);
  EXPECT_EQ(result_of([&] { x.close(t); }), errc::success);  // closing again does nothing
}

// Rule 158, for a closed stream.
TEST_F(Buffer, AClosedStreamAllocatesNoBuffer) {
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { const buffer<int> x{gone, size}; }), errc::closed);
  buffer<int> x{s, size};
  EXPECT_EQ(result_of([&] { x.used_on(gone); }), errc::closed);
  EXPECT_EQ(result_of([&] { x.set_stream(gone); }), errc::closed);
  EXPECT_EQ(x.stream(), s.ref());
}

// Rule 164.
TEST_F(Buffer, AnOversizedRequestThrowsOutOfMemory) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(result_of([&] { const buffer<std::uint64_t> x{s, most}; }), errc::out_of_memory);
  EXPECT_EQ(result_of([&] { const buffer<std::uint64_t> x{s, most / 8}; }), errc::out_of_memory);
  const auto failure = failure_of([&] { const buffer<char> x{s, std::size_t{1} << 50}; });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::out_of_memory);
  EXPECT_STREQ(failure->call(), "cuMemAllocAsync");
  EXPECT_FALSE(failure->hint().empty());
  const buffer<char> small{s, 16};  // the stream still works
  s.sync();
}

TEST_F(Buffer, AdoptTakesOwnershipAndReleaseGivesItUp) {
  abi::CUdeviceptr raw = 0;
  ASSERT_EQ(driver().cuMemAllocAsync(&raw, size * sizeof(int), s.get()), abi::CUDA_SUCCESS);
  auto x = buffer<int>::adopt(s, reinterpret_cast<int*>(raw), size);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()), raw);
  fill(s, x, 5);
  EXPECT_EQ(contents(s, x).back(), 5);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.release()), raw);
  EXPECT_TRUE(x.closed());
  EXPECT_EQ(driver().cuMemFreeAsync(raw, s.get()), abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { static_cast<void>(buffer<int>::adopt(s, nullptr, 4)); }),
            errc::invalid_value);
}

// Each buffer takes 2/5 of the free memory, so a later one needs the memory of an earlier one.
TEST_F(Buffer, FreedMemoryIsAvailableAgain) {
  const std::size_t much = static_cast<std::size_t>(gpu.memory().free) / 5 * 2;
  for (int round = 0; round < 4; ++round) {
    const buffer<char> x{s, much};
    EXPECT_NE(x.data(), nullptr);
  }
  s.sync();
}

}  // namespace
}  // namespace weir
