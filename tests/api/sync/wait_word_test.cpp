// SPDX-License-Identifier: Apache-2.0
// wait_word_test.cpp - words: their values, the tracking of their uses, and their reuse.
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/ipc_buffer.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/sync/value_wait.hpp>
#include <weir/sync/wait_word.hpp>

#include <cstdint>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::gate;
using test::result_of;

template <class T>
concept may_be_word = requires {
  typename wait_word<T>;
};

static_assert(may_be_word<std::uint32_t> && may_be_word<std::uint64_t>);
static_assert(!may_be_word<int> && !may_be_word<std::uint16_t> && !may_be_word<float>);
static_assert(std::is_nothrow_move_constructible_v<wait_word<std::uint64_t>>);
static_assert(std::is_convertible_v<const wait_word<std::uint32_t>&, wait_word_ref<std::uint32_t>>);
static_assert(!std::is_convertible_v<std::uint32_t*, wait_word_ref<std::uint32_t>>);

class Word : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

TEST_F(Word, AWordHoldsTheValueStoredByTheHost) {
  wait_word<std::uint32_t> w{7};
  EXPECT_EQ(w.load(), 7u);
  w.store(8);
  EXPECT_EQ(w.load(), 8u);
  EXPECT_EQ(*w.get(), 8u);
  const wait_word<std::uint64_t> fresh;
  EXPECT_EQ(fresh.load(), 0u);
}

TEST_F(Word, AWordHoldsTheValueWrittenByAStream) {
  wait_word<std::uint64_t> w;
  write_value(s, w, std::uint64_t{1} << 40);
  s.sync();
  EXPECT_EQ(w.load(), std::uint64_t{1} << 40);
}

// Words come from pages, so a driver call is made only for each new page.
TEST_F(Word, WordsAreAllocatedFromPages) {
  const wait_word<std::uint32_t> first;
  const fault_table calls;
  std::vector<wait_word<std::uint32_t>> many;
  for (int i = 0; i < 1000; ++i) many.emplace_back();
  EXPECT_LE(calls.count(&driver_table::cuMemHostAlloc), 4);
  std::set<std::uintptr_t> lines;
  for (const wait_word<std::uint32_t>& w : many)
    lines.insert(reinterpret_cast<std::uintptr_t>(w.get()) / 64);
  EXPECT_EQ(lines.size(), many.size()) << "each word has its own cache line";
}

TEST_F(Word, AReferenceStaysValidWhenTheWordIsMoved) {
  std::optional<wait_word<std::uint32_t>> first{std::in_place, 1u};
  const wait_word_ref<std::uint32_t> w = *first;
  wait_word<std::uint32_t> second{std::move(*first)};
  EXPECT_TRUE(first->closed());
  first.reset();
  write_value(s, w, 5);
  s.sync();
  EXPECT_EQ(second.load(), 5u);
  wait_word<std::uint32_t> third;
  third = std::move(second);
  EXPECT_EQ(third.load(), 5u);
}

// Rule 158.
TEST_F(Word, AClosedWordThrowsClosed) {
  wait_word<std::uint32_t> w;
  w.close();
  w.close();
  EXPECT_TRUE(w.closed());
  EXPECT_EQ(w.get(), nullptr);
  EXPECT_EQ(result_of([&] { static_cast<void>(w.load()); }), errc::closed);
  EXPECT_EQ(result_of([&] { w.store(1); }), errc::closed);
  EXPECT_EQ(result_of([&] { wait_value(s, w, until::eq, 1); }), errc::closed);
  EXPECT_EQ(result_of([&] { write_value(s, w, 1); }), errc::closed);
}

// A destroyed word that a stream has still to write is not reused before the write, and the
// destructor does not block.
TEST_F(Word, AWordInUseIsReusedWhenItsStreamsAreDone) {
  drain_deferred();
  // A GPU's driver may wait for its device when it allocates pinned memory, so the words are
  // allocated before.
  std::vector<wait_word<std::uint32_t>>(301).clear();
  gate held{s};
  std::optional<wait_word<std::uint32_t>> w{std::in_place};
  const std::uint32_t* const place = w->get();
  write_value(s, *w, 99);
  w.reset();  // returns without blocking
  EXPECT_FALSE(s.done());
  std::vector<wait_word<std::uint32_t>> others;
  for (int i = 0; i < 300; ++i) {
    others.emplace_back(i);
    EXPECT_NE(others.back().get(), place);
  }
  held.open();
  drain_deferred();
  s.sync();
  for (std::uint32_t i = 0; i < others.size(); ++i) EXPECT_EQ(others[i].load(), i);
  const wait_word<std::uint32_t> next;
  EXPECT_EQ(next.get(), place) << "the word freed last is reused first";
}

// A word caches the last two streams that used it, so alternating uses need no search in its list.
TEST_F(Word, AWordCachesItsLastTwoStreams) {
  const stream t{gpu};
  wait_word<std::uint32_t> w;
  const stream_ref streams[] = {s, t};
  for (const stream_ref each : streams) write_value(each, w, 1);
  for (const stream_ref each : streams) EXPECT_TRUE(w.ref().owner()->is_untracked_on(each));
  const stream u{gpu};
  write_value(u, w, 2);
  EXPECT_TRUE(w.ref().owner()->is_untracked_on(u));
  EXPECT_TRUE(w.ref().owner()->is_untracked_on(t));
  EXPECT_FALSE(w.ref().owner()->is_untracked_on(s)) << "the cache has two entries";
  for (const stream_ref each : {s.ref(), t.ref(), u.ref()}) each.sync();
}

// A destroyed stream must not stay in the cache, as its handle may be reused. The list removes such
// streams only before it grows, so the test uses many of them.
TEST_F(Word, DestroyedStreamsLeaveTheCache) {
  wait_word<std::uint32_t> w;
  CUstream_st* before = s.get();
  int moved_out = 0;
  for (int i = 0; i < 200; ++i) {
    const stream short_lived{gpu};
    write_value(short_lived, w, 1);
    if (!w.ref().owner()->is_untracked_on(before)) ++moved_out;
    short_lived.sync();
    before = short_lived.get();
  }
  EXPECT_GT(moved_out, 1) << "the first round always counts";
}

TEST_F(Word, ElementsOfPinnedBuffersAreWords) {
  pinned_buffer<std::uint64_t> here{4};
  here[3] = 0;
  write_value(s, wait_word_ref{here, 3}, 6);
  wait_value(s, wait_word_ref{here, 3}, until::eq, 6);
  write_value(s, wait_word_ref{here, 3}, 7);
  s.sync();
  EXPECT_EQ(here[3], 7u);
  EXPECT_EQ((wait_word_ref{here, 3}.get()), here.data() + 3);
  EXPECT_EQ(result_of([&] { static_cast<void>(wait_word_ref{here, 4}); }), errc::invalid_value);
  here.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(wait_word_ref{here, 0}); }), errc::closed);
}

// Memory that cannot hold words: a wrong type does not compile, and the driver refuses a wrong
// address.
template <class Memory>
concept has_words = requires(Memory& m) {
  wait_word_ref{m, std::size_t{0}};
};
static_assert(has_words<pinned_buffer<std::uint32_t>> && has_words<ipc_buffer<std::uint64_t>>);
static_assert(!has_words<buffer<std::uint32_t>> && !has_words<managed_buffer<std::uint32_t>>);
static_assert(!has_words<pinned_buffer<float>>);
static_assert(std::is_constructible_v<wait_word_ref<std::uint32_t>, pinned_buffer<std::uint32_t>&,
                                      std::size_t>);
static_assert(
    !std::is_constructible_v<wait_word_ref<std::uint32_t>, buffer<std::uint32_t>&, std::size_t>);
static_assert(!std::is_constructible_v<wait_word_ref<std::uint32_t>, managed_buffer<std::uint32_t>&,
                                       std::size_t>);

TEST_F(Word, TheDriverRefusesPoolAndManagedMemory) {
  buffer<std::uint32_t> x{s, 4};
  managed_buffer<std::uint32_t> y{4};
  for (std::uint32_t* const address : {x.data(), y.data()}) {
    const wait_word_ref<std::uint32_t> none{address};
    EXPECT_EQ(result_of([&] { write_value(s, none, 1); }), errc::invalid_value);
    EXPECT_EQ(result_of([&] { wait_value(s, none, until::geq, 0); }), errc::invalid_value);
  }
}

TEST_F(Word, ElementsOfIpcBuffersAreWords) {
  ipc_buffer<std::uint32_t> x{4};
  write_value(s, wait_word_ref{x, 2}, 6);
  wait_value(s, wait_word_ref{x, 2}, until::eq, 6);
  s.sync();
}

// Allocating another page breaks no capture, in any mode and on any thread.
TEST_F(Word, AllocatingWordsBreaksNoCapture) {
  for (const auto mode :
       {abi::CU_STREAM_CAPTURE_MODE_GLOBAL, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    test::foreign_capture foreign{s, mode};
    const fault_table calls;
    std::vector<wait_word<std::uint32_t>> many;
    while (calls.count(&driver_table::cuMemHostAlloc) == 0 && many.size() < 10'000)
      many.emplace_back();
    EXPECT_EQ(calls.count(&driver_table::cuMemHostAlloc), 1);
    static auto* const kept =
        new std::vector<wait_word<std::uint32_t>>;  // so that the next round needs a page too
    for (wait_word<std::uint32_t>& each : many) kept->push_back(std::move(each));
    EXPECT_TRUE(foreign.end());
  }
}

TEST_F(Word, HostFunctionsMayNotAllocateWords) {
  errc result = errc::success;
  launch_host(s, [&] { result = result_of([] { const wait_word<std::uint32_t> w; }); });
  s.sync();
  EXPECT_EQ(result, errc::not_permitted);
}

TEST_F(Word, ADeviceReportsItsValueOperations) {
  const wait_word_features can = wait_word_support(gpu);
  EXPECT_EQ(can.bits_64, gpu.attribute(device_attribute::value_waits_of_64_bits) != 0);
  EXPECT_EQ(can.flush, gpu.attribute(device_attribute::can_flush_remote_writes) != 0);
  EXPECT_EQ(result_of([] { static_cast<void>(wait_word_support(device{device::count()})); }),
            errc::invalid_device);
}

// cudaDeviceReset() destroys the page with the context, and both are created again.
TEST(WordAndReset, ANewWordAfterAResetLiesInANewPage) {
  test::in_a_fresh_process([] {
    const device gpu;
    {
      const wait_word<std::uint32_t> old;
      const stream s{gpu}, t{gpu};
      s.wait(t);
      write_value(s, old, 1);
      s.sync();
    }
    drain_deferred();
    if (!WEIR_HOLDS(driver().cuDevicePrimaryCtxReset_v2(gpu.ordinal()) == abi::CUDA_SUCCESS))
      return false;
    if (!WEIR_HOLDS(gpu.primary_context().status() == errc::context_is_destroyed)) return false;
    const wait_word<std::uint32_t> fresh{4};
    const stream s{gpu}, t{gpu};
    s.wait(t);
    wait_value(s, fresh, until::eq, 4);
    write_value(s, fresh, 5);
    s.sync();
    return WEIR_HOLDS(fresh.load() == 5u);
  });
}

// The allocation of the word is the first call that notices the reset. The old page must not be
// read.
TEST(WordAndReset, AWordAllocatedFirstAfterAResetLiesInANewPage) {
  test::in_a_fresh_process([] {
    const device gpu;
    { const wait_word<std::uint32_t> old; }
    if (!WEIR_HOLDS(driver().cuDevicePrimaryCtxReset_v2(gpu.ordinal()) == abi::CUDA_SUCCESS))
      return false;
    const fault_table calls;
    wait_word<std::uint32_t> fresh{4};
    fresh.store(5);
    return WEIR_HOLDS(fresh.load() == 5u) &&
           WEIR_HOLDS(calls.count(&driver_table::cuMemHostAlloc) == 1);
  });
}

// An error also makes weir notice the reset.
TEST(WordAndReset, StreamsCanBeCreatedAfterTheFirstErrorOfAReset) {
  test::in_a_fresh_process([] {
    const device gpu;
    { const stream s{gpu}; }
    if (!WEIR_HOLDS(driver().cuDevicePrimaryCtxReset_v2(gpu.ordinal()) == abi::CUDA_SUCCESS))
      return false;
    return WEIR_HOLDS(result_of([&] { stream{gpu}; }) == errc::context_is_destroyed) &&
           WEIR_HOLDS(result_of([&] { stream{gpu}.sync(); }) == errc::success);
  });
}

}  // namespace
}  // namespace weir
