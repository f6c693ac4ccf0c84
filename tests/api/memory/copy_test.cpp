// SPDX-License-Identifier: Apache-2.0
// copy_test.cpp - copies between any two memories, in stream order.
#include <weir/capture/capture.hpp>
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::failure_of;
using test::gate;
using test::result_of;

// Both sides have one trivially copyable element type, and the target is writable.
template <class From, class To>
concept can_copy = requires(stream_ref s, From& from, To& to) {
  copy(s, from, to);
};
static_assert(can_copy<buffer<int>, std::vector<int>> &&
              can_copy<const std::vector<int>, buffer<int>>);
static_assert(can_copy<std::array<int, 4>, std::span<int>> &&
              can_copy<const buffer<int>, buffer<int>>);
static_assert(!can_copy<buffer<int>, std::vector<long>> &&
              !can_copy<buffer<int>, const std::vector<int>>);
static_assert(!can_copy<std::vector<std::string>, std::vector<std::string>>);
static_assert(!can_copy<int, buffer<int>>);

class Copy : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1000;

  static std::vector<int> numbers(int from = 0) {
    std::vector<int> made(size);
    std::iota(made.begin(), made.end(), from);
    return made;
  }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

TEST_F(Copy, ACopyGoesToTheDeviceAcrossItAndBack) {
  const std::vector<int> in = numbers();
  std::vector<int> out(size);
  buffer<int> x{s, size};
  buffer<int> y{s, size};
  copy(s, in, x);
  copy(s, x, y);
  copy(s, y, out);
  s.sync();
  EXPECT_EQ(out, in);
}

TEST_F(Copy, ACopyTakesAllKindsOfMemory) {
  const std::vector<int> in = numbers(5);
  pinned_buffer<int> pinned{size};
  pinned_buffer<int> more{size};
  buffer<int> x{s, size};
  std::array<int, size> out{};
  copy(s, in, pinned);    // host to pinned
  copy(s, pinned, more);  // pinned to pinned
  copy(s, more, x);       // pinned to device
  copy(s, x, pinned);     // device to pinned
  copy(s, pinned, out);   // pinned to host
  s.sync();
  EXPECT_TRUE(std::ranges::equal(out, in));
  std::vector<int> again(size);
  copy(s, in, again);  // host to host
  s.sync();
  EXPECT_EQ(again, in);
}

TEST_F(Copy, ACopyTakesAddressesAndSubspans) {
  const std::vector<int> in = numbers();
  buffer<int> x{s, size};
  fill(s, x, -1);
  copy(s, in.data(), x.data() + 10, 20);
  copy(s, std::span{in}.subspan(500, 3), std::span{x.data() + 100, 3});
  const std::vector<int> out = contents(s, x);
  EXPECT_EQ(out[9], -1);
  EXPECT_EQ(out[10], 0);
  EXPECT_EQ(out[29], 19);
  EXPECT_EQ(out[30], -1);
  EXPECT_EQ(out[99], -1);
  EXPECT_EQ(out[100], 500);
  EXPECT_EQ(out[102], 502);
  EXPECT_EQ(out[103], -1);
}

TEST_F(Copy, ACopyTakesAnySizeAndAlignment) {
  pinned_buffer<std::uint8_t> in{300};
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>(i * 7);
  buffer<std::uint8_t> x{s, 300};
  for (const std::size_t bytes : {1, 2, 3, 5, 7, 63, 65, 127, 255}) {
    const std::size_t at = bytes % 13;
    fill(s, x, std::uint8_t{0xee});
    copy(s, in.data() + at, x.data() + 3, bytes);
    const auto out = contents(s, x);
    ASSERT_EQ(out[2], 0xee) << bytes;
    for (std::size_t i = 0; i < bytes; ++i)
      ASSERT_EQ(out[3 + i], in[at + i]) << bytes << " at " << i;
    ASSERT_EQ(out[3 + bytes], 0xee) << bytes;
  }
}

TEST_F(Copy, AShorterSourceFillsTheBeginning) {
  const std::vector<int> in{1, 2, 3};
  buffer<int> x{s, size};
  fill(s, x, 9);
  copy(s, in, x);
  const std::vector<int> out = contents(s, x);
  EXPECT_EQ((std::vector<int>{out.begin(), out.begin() + 4}), (std::vector<int>{1, 2, 3, 9}));
}

TEST_F(Copy, ALongerSourceIsRefusedAndNothingIsQueued) {
  const std::vector<int> in = numbers();
  buffer<int> x{s, 10};
  fill(s, x, 9);
  const fault_table calls;
  const auto failure = failure_of([&] { copy(s, in, x); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("4000 bytes do not fit into 40"), std::string::npos)
      << failure->what();
  EXPECT_EQ(calls.count(&driver_table::cuMemcpyAsync), 0);
  EXPECT_EQ(contents(s, x), std::vector<int>(10, 9));
}

TEST_F(Copy, AnEmptyCopyQueuesNothing) {
  const std::vector<int> none;
  buffer<int> x{s, 1};
  const fault_table calls;
  copy(s, none, x);
  copy(t, none, x);
  copy(s, static_cast<const int*>(nullptr), static_cast<int*>(nullptr), 0);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(Copy, ACopyRunsInStreamOrderAndReturnsAtOnce) {
  pinned_buffer<int> word{1};
  pinned_buffer<int> result{1};
  buffer<int> there{s, 1};  // a GPU's driver blocks the caller for a copy from host to host
  word[0] = 1;
  result[0] = 0;
  gate held{s};
  copy(s, word, there);
  copy(s, there, result);
  EXPECT_FALSE(s.done());
  word[0] = 2;  // read when the stream reaches the copy
  held.open();
  s.sync();
  EXPECT_EQ(result[0], 2);
}

TEST_F(Copy, AClosedStreamRefusesCopies) {
  stream gone{gpu};
  gone.close();
  pinned_buffer<int> word{2};
  EXPECT_EQ(result_of([&] { copy(gone, word.data(), word.data() + 1, 1); }), errc::closed);
}

TEST_F(Copy, ACopyBetweenDevicesIsAPeerCopy) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream other{device{1}};
  const std::vector<int> in = numbers(3);
  buffer<int> x{s, size};
  copy(s, in, x);
  buffer<int> y{other, size};
  const event filled = s.record();
  other.wait(filled);
  const fault_table calls;
  copy(other, x, y);
  EXPECT_EQ(calls.count(&driver_table::cuMemcpyPeerAsync), 1);
  EXPECT_EQ(contents(other, y), in);
}

// The memory of a pool is accessible to its own device, whichever device is current.
TEST_F(Copy, ACopyWorksWhileAnotherDeviceIsCurrent) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const device second{1};
  const stream other{second};
  const std::vector<int> in = numbers(3);
  std::vector<int> out(in.size());
  const context_scope current{gpu};
  buffer<int> x{other, size};
  copy(other, in, x);
  copy(other, x, out);
  other.sync();
  EXPECT_EQ(out, in);
  const graph g = capture(other, [&] { copy(other, in, x); });
  EXPECT_EQ(g.node_count(), 1u);
}

// The driver refuses a copy between devices in a capture, and breaks the capture.
TEST_F(Copy, ACaptureRefusesCopiesBetweenDevices) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream other{device{1}};
  buffer<int> near{s, 10};
  buffer<int> far{other, 10};
  const auto expect_refused = [&](const std::string& capture) {
    const auto failure = failure_of([&] { copy(s, near, far); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::stream_capture_unsupported);
    EXPECT_STREQ(failure->call(), "cuMemcpyPeerAsync");
    for (const std::string& said :
         {to_string(s), capture, std::string{"before the capture begins or after it ends"}}) {
      EXPECT_NE(std::string{failure->what()}.find(said), std::string::npos) << failure->what();
    }
  };
  const graph g = capture(s, [&] { expect_refused("copy_test.cpp"); });
  EXPECT_EQ(g.node_count(), 0u);
  test::foreign_capture foreign{s};
  expect_refused("directly through the driver");
  EXPECT_TRUE(foreign.end());
}

}  // namespace
}  // namespace weir
