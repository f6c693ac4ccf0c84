// buffer_test.cpp - device memory in stream order: made, used on other streams, freed when nobody uses it.
#include <weir/buffer.hpp>
#include <weir/context.hpp>
#include <weir/copy.hpp>
#include <weir/fill.hpp>
#include <weir/pinned_buffer.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/failing.hpp"
#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::failing_table;
using test::contents;
using test::failure_of;
using test::gate;
using test::result_of;

static_assert(!std::is_copy_constructible_v<buffer<int>> && std::is_nothrow_move_constructible_v<buffer<int>>);
static_assert(!std::is_default_constructible_v<buffer<int>>);

class Buffer : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1 << 14;

  // Is later work of the stream held? Where it is, that is certain; where it is not, it ends long before the time.
  static bool is_held(stream_ref stream) { return !stream.sync_for(std::chrono::milliseconds{5}); }

  device gpu;
  stream s{gpu};
  stream t{gpu};
  pinned_buffer<std::uint32_t> host{size};
};

TEST_F(Buffer, HoldsWhatIsWrittenToIt) {
  buffer<std::uint32_t> x{s, size};
  EXPECT_NE(x.data(), nullptr);
  EXPECT_EQ(x.size(), size);
  EXPECT_EQ(x.size_bytes(), size * sizeof(std::uint32_t));
  EXPECT_FALSE(x.empty());
  EXPECT_EQ(x.stream(), s.ref());
  fill(s, x, 0xabcd'1234u);
  EXPECT_EQ(contents(s, x), std::vector<std::uint32_t>(size, 0xabcd'1234u));
}

TEST_F(Buffer, AnEmptyOneOwnsNothingAndCallsNoDriver) {
  const failing_table calls;
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

TEST_F(Buffer, MovingTouchesNoDevice) {
  buffer<int> x{s, size};
  int* const address = x.data();
  const failing_table calls;
  buffer<int> y = std::move(x);
  EXPECT_TRUE(x.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  EXPECT_EQ(x.data(), nullptr);
  EXPECT_EQ(x.size(), 0u);
  EXPECT_EQ(y.data(), address);
  x = std::move(y);
  EXPECT_EQ(x.data(), address);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(Buffer, AssigningFreesWhatWasThere) {
  buffer<int> x{s, size};
  const failing_table calls;
  x = buffer<int>{t, size};
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
  EXPECT_EQ(x.stream(), t.ref());
}

// Rule 158.
TEST_F(Buffer, AClosedOneSaysSoToEveryUse) {
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
  EXPECT_EQ(result_of([&] { x.close(t); }), errc::success);  // there is nothing left to do
}

// Rule 158, the other way round.
TEST_F(Buffer, AClosedStreamGivesNone) {
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { const buffer<int> x{gone, size}; }), errc::closed);
  buffer<int> x{s, size};
  EXPECT_EQ(result_of([&] { x.used_on(gone); }), errc::closed);
  EXPECT_EQ(result_of([&] { x.set_stream(gone); }), errc::closed);
  EXPECT_EQ(x.stream(), s.ref());
}

// Rule 164.
TEST_F(Buffer, TooMuchIsRefusedAsOutOfMemory) {
  const std::size_t most = std::numeric_limits<std::size_t>::max();
  EXPECT_EQ(result_of([&] { const buffer<std::uint64_t> x{s, most}; }), errc::out_of_memory);
  EXPECT_EQ(result_of([&] { const buffer<std::uint64_t> x{s, most / 8}; }), errc::out_of_memory);
  const auto failure = failure_of([&] { const buffer<char> x{s, std::size_t{1} << 50}; });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::out_of_memory);
  EXPECT_STREQ(failure->call(), "cuMemAllocAsync");
  EXPECT_FALSE(failure->advice().empty());
  const buffer<char> small{s, 16};  // the stream is as good as before
  s.sync();
}

// It costs nothing when the buffer stayed on its stream.
TEST_F(Buffer, AtHomeNothingIsRemembered) {
  const failing_table calls;
  {
    buffer<std::uint32_t> x{s, size};
    fill(s, x, 1u);
    copy(s, x, x);
    x.used_on(s);
  }
  EXPECT_EQ(calls.count(&driver_table::cuEventCreate), 0);
  EXPECT_EQ(calls.count(&driver_table::cuEventRecord), 0);
  EXPECT_EQ(calls.count(&driver_table::cuStreamWaitEvent), 0);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
}

// The bug behind record_stream: a buffer freed while another stream still reads it.
TEST_F(Buffer, ItsFreeWaitsForTheStreamsThatUsedIt) {
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  fill(s, *x, 7u);
  t.wait(s);
  gate held{t};
  copy(t, *x, host);
  x.reset();
  buffer<std::uint32_t> y{s, size};  // may well be the same memory
  fill(s, y, 8u);
  EXPECT_TRUE(is_held(s));
  held.open();
  t.sync();
  s.sync();
  for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(host[i], 7u) << i;
}

TEST_F(Buffer, ClosingDoesNotWaitForTheHost) {
  buffer<std::uint32_t> x{s, size};
  fill(s, x, 7u);
  t.wait(s);
  gate held{t};
  copy(t, x, host);
  x.close();  // returns
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
}

// Work that weir did not queue is told.
TEST_F(Buffer, UsedOnTellsOfForeignWork) {
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  fill(s, *x, 7u);
  t.wait(s);
  gate held{t};
  ASSERT_EQ(driver().cuMemcpyAsync(reinterpret_cast<std::uintptr_t>(host.data()),
                                   reinterpret_cast<std::uintptr_t>(x->data()), x->size_bytes(), t.get()),
            abi::CUDA_SUCCESS);
  x->used_on(t);
  x.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
  t.sync();
  EXPECT_EQ(host[size - 1], 7u);
}

// For a stream that weir owns once is enough: later uses count too.
TEST_F(Buffer, TheFreeCoversUsesAfterTheFirst) {
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  t.wait(s);
  x->used_on(t);
  t.sync();
  gate held{t};  // work that weir is not told of again
  x.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
}

// A stream that weir does not own is marked at each use, since it may be gone later.
TEST_F(Buffer, AForeignStreamMayBeGoneBeforeTheFree) {
  abi::CUstream raw = nullptr;
  {
    const context_scope current{gpu};
    ASSERT_EQ(driver().cuStreamCreate(&raw, abi::CU_STREAM_NON_BLOCKING), abi::CUDA_SUCCESS);
  }
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  fill(s, *x, 7u);
  stream_ref{raw}.wait(s);
  gate held{stream_ref{raw}};
  copy(stream_ref{raw}, *x, host);
  ASSERT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
  x.reset();
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
  EXPECT_EQ(host[0], 7u);
}

// Rules 1 and 167: owner and buffer go in any order.
TEST_F(Buffer, ItsStreamLivesUntilItIsFreed) {
  auto owner = std::make_unique<stream>(gpu);
  std::optional<buffer<std::uint32_t>> x{std::in_place, *owner, size};
  const failing_table calls;
  fill(*owner, *x, 9u);
  owner.reset();
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 0);
  EXPECT_EQ(contents(x->stream(), *x).back(), 9u);
  x.reset();
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

TEST_F(Buffer, AStreamThatUsedItLivesUntilItIsFreed) {
  auto user = std::make_unique<stream>(gpu);
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  const failing_table calls;
  user->wait(s);
  gate held{*user};
  fill(*user, *x, 9u);
  user.reset();
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 0);
  x.reset();
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
  EXPECT_TRUE(is_held(s));
  held.open();
  s.sync();
}

TEST_F(Buffer, ItMayBeFreedOnAnotherStream) {
  buffer<std::uint32_t> x{s, size};
  gate held{s};
  fill(s, x, 3u);
  x.close(t);
  EXPECT_TRUE(x.closed());
  EXPECT_TRUE(is_held(t)) << "the other stream waits for the work of its own";
  held.open();
  t.sync();
}

TEST_F(Buffer, ANewStreamWaitsForTheOldOne) {
  buffer<std::uint32_t> x{s, size};
  gate held{s};
  fill(s, x, 3u);
  x.set_stream(t);
  EXPECT_EQ(x.stream(), t.ref());
  EXPECT_TRUE(is_held(t));
  held.open();
  EXPECT_EQ(contents(t, x).front(), 3u);
}

// Afterwards the new stream is home, and the old one is one that used it.
TEST_F(Buffer, AfterTheMoveTheOldStreamIsOneThatUsesIt) {
  std::optional<buffer<std::uint32_t>> x{std::in_place, s, size};
  x->set_stream(t);
  gate held{s};
  fill(s, *x, 3u);
  x.reset();
  EXPECT_TRUE(is_held(t));
  held.open();
  t.sync();
}

TEST_F(Buffer, AdoptingTakesOverAndReleasingGivesUp) {
  abi::CUdeviceptr raw = 0;
  ASSERT_EQ(driver().cuMemAllocAsync(&raw, size * sizeof(int), s.get()), abi::CUDA_SUCCESS);
  auto x = buffer<int>::adopt(s, reinterpret_cast<int*>(raw), size);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.data()), raw);
  fill(s, x, 5);
  EXPECT_EQ(contents(s, x).back(), 5);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.release()), raw);
  EXPECT_TRUE(x.closed());
  EXPECT_EQ(driver().cuMemFreeAsync(raw, s.get()), abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { static_cast<void>(buffer<int>::adopt(s, nullptr, 4)); }), errc::invalid_value);
}

// The default streams have buffers too; per-thread ones are another stream in each thread.
TEST_F(Buffer, OfADefaultStreamIsFreedFromAnyThread) {
  const context_scope current{gpu};
  for (const stream_ref home : {stream_ref::legacy(), stream_ref::per_thread()}) {
    std::optional<buffer<std::uint32_t>> x{std::in_place, home, size};
    fill(home, *x, 6u);
    EXPECT_EQ(contents(home, *x).back(), 6u);
    const failing_table calls;
    std::thread{[&] { x.reset(); }}.join();  // where no context is current
    EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
    home.sync();
  }
}

// Each takes more than a third of what there is, so that the fourth needs what the first has given back.
TEST_F(Buffer, MemoryComesBack) {
  const std::size_t much = static_cast<std::size_t>(gpu.memory().free) / 5 * 2;
  for (int round = 0; round < 4; ++round) {
    const buffer<char> x{s, much};
    EXPECT_NE(x.data(), nullptr);
  }
  s.sync();
}

// Of another device: used there through a peer copy.
TEST_F(Buffer, OnAnotherDevice) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream other{device{1}};
  buffer<std::uint32_t> x{s, size};
  fill(s, x, 4u);
  buffer<std::uint32_t> y{other, size};
  other.wait(s);
  gate held{other};
  copy(other, x, y);
  x.close();
  EXPECT_TRUE(is_held(s));
  held.open();
  EXPECT_EQ(contents(other, y).back(), 4u);
  s.sync();
}

}  // namespace
}  // namespace weir
