// SPDX-License-Identifier: Apache-2.0
// stream_test.cpp - creating, adopting, borrowing, querying and destroying streams.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <unordered_set>
#include <utility>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/gate_opener.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::result_of;

class Stream : public ::testing::Test {
 protected:
  // Creates a stream directly through the driver, which the test owns.
  CUstream_st* make_raw(unsigned flags = abi::CU_STREAM_NON_BLOCKING) {
    const context_scope current{gpu};
    abi::CUstream raw = nullptr;
    EXPECT_EQ(driver().cuStreamCreate(&raw, flags), abi::CUDA_SUCCESS);
    return raw;
  }
  void destroy_raw(CUstream_st* raw) {
    EXPECT_EQ(driver().cuStreamDestroy_v2(raw), abi::CUDA_SUCCESS);
  }

  device gpu;
};

// Default streams are available by name only, and no plain number converts to a stream.
static_assert(!std::is_constructible_v<stream_ref, int> &&
              !std::is_constructible_v<stream_ref, decltype(nullptr)>);
static_assert(!std::is_default_constructible_v<stream_ref> &&
              !std::is_default_constructible_v<stream>);
static_assert(!std::is_constructible_v<stream, CUstream_st*>, "adopting is named");
static_assert(std::is_nothrow_move_constructible_v<stream> &&
              std::is_nothrow_move_assignable_v<stream>);
static_assert(!std::is_constructible_v<stream_ref, std::string>);

TEST_F(Stream, AStreamHasItsKindPriorityAndDevice) {
  const stream plain{gpu};
  EXPECT_FALSE(plain.is_blocking());
  EXPECT_EQ(plain.priority(), 0);
  EXPECT_EQ(plain.device(), gpu);
  EXPECT_EQ(plain.context(), gpu.primary_context());
  const stream urgent{gpu, {.priority = gpu.priorities().greatest, .kind = stream_kind::blocking}};
  EXPECT_TRUE(urgent.is_blocking());
  EXPECT_EQ(urgent.priority(), gpu.priorities().greatest);
}

// Rule 7: a smaller number is a higher priority.
TEST_F(Stream, PrioritiesRunFromLeastDownToGreatest) {
  const priority_range range = gpu.priorities();
  EXPECT_LE(range.greatest, range.least);
  EXPECT_LE(range.greatest, 0);
  EXPECT_GE(range.least, 0);
}

// Rule 8: strict, and clamped on request.
TEST_F(Stream, APriorityOutOfRangeIsRefusedAndMayBeClamped) {
  const priority_range range = gpu.priorities();
  const auto failure = failure_of([&] { stream s{gpu, {.priority = range.greatest - 1}}; });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(std::string{failure->what()}.find(std::to_string(range.greatest)), std::string::npos)
      << failure->what();
  EXPECT_EQ(result_of([&] { stream s{gpu, {.priority = range.least + 1}}; }), errc::invalid_value);
  EXPECT_EQ((stream{gpu, {.priority = range.clamped(-1000)}}.priority()), range.greatest);
  EXPECT_EQ((stream{gpu, {.priority = range.clamped(1000)}}.priority()), range.least);
}

// Rule 12.
TEST_F(Stream, AnInvalidDeviceIsAnError) {
  EXPECT_EQ(result_of([&] { stream s{device{device::count()}}; }), errc::invalid_device);
  EXPECT_EQ(result_of([&] { stream s{device{-1}}; }), errc::invalid_device);
}

// Rule 15.
TEST_F(Stream, StreamOperationsDoNotChangeTheCurrentContext) {
  const context_ref before = current_context();
  stream s{gpu};
  static_cast<void>(s.done());
  static_cast<void>(s.id());
  const event e = s.record();
  s.wait(e);
  s.close();
  EXPECT_EQ(current_context(), before);
}

// Rule 18.
TEST_F(Stream, IdsAreNeverReused) {
  const context_scope current{gpu};
  std::set<unsigned long long> seen{stream_ref::legacy().id(), stream_ref::per_thread().id()};
  EXPECT_EQ(seen.size(), 2u);
  for (int i = 0; i < 100; ++i) {
    const stream s{gpu};
    EXPECT_TRUE(seen.insert(s.id()).second);
    EXPECT_EQ(s.id(), s.ref().id());
  }
}

// Rule 16.
TEST_F(Stream, ReferencesToOneStreamAreEqualAndHashEqual) {
  const stream s{gpu};
  const stream other{gpu};
  const stream_ref one{s.get()};
  const stream_ref two = s;
  EXPECT_EQ(one, two);
  EXPECT_EQ(std::hash<stream_ref>{}(one), std::hash<stream_ref>{}(two));
  EXPECT_NE(one, other.ref());
  EXPECT_EQ(stream_ref{static_cast<CUstream_st*>(nullptr)}, stream_ref::legacy());
  const std::unordered_set<stream_ref> set{one, two, other};
  EXPECT_EQ(set.size(), 2u);
}

// Rules 2 and 3.
TEST_F(Stream, AReferenceOwnsNothing) {
  CUstream_st* const raw = make_raw();
  {
    const stream_ref first{raw};
    const stream_ref second{raw};
    EXPECT_TRUE(first.done());
    EXPECT_TRUE(second.done());
  }
  EXPECT_TRUE(stream_ref{raw}.done());
  EXPECT_FALSE(stream_ref{raw}.is_blocking());
  EXPECT_EQ(stream_ref{raw}.device(), gpu);
  destroy_raw(raw);
}

TEST_F(Stream, AdoptTakesOwnershipAndReleaseGivesItUp) {
  CUstream_st* const raw = make_raw(abi::CU_STREAM_DEFAULT);
  stream s = stream::adopt(raw);
  EXPECT_EQ(s.get(), raw);
  EXPECT_TRUE(s.is_blocking());
  EXPECT_EQ(s.device(), gpu);
  EXPECT_EQ(s.release(), raw);
  EXPECT_TRUE(s.closed());
  destroy_raw(raw);
}

// Rule 5.
TEST_F(Stream, DefaultStreamsCannotBeAdopted) {
  for (CUstream_st* const token : {static_cast<CUstream_st*>(nullptr), stream_ref::legacy().get(),
                                   stream_ref::per_thread().get()}) {
    EXPECT_EQ(result_of([&] { static_cast<void>(stream::adopt(token)); }), errc::invalid_handle);
  }
}

TEST_F(Stream, AnOwnedStreamCannotBeAdopted) {
  const stream s{gpu};
  EXPECT_EQ(result_of([&] { static_cast<void>(stream::adopt(s.get())); }), errc::invalid_handle);
  EXPECT_TRUE(s.done());
}

// Rules 158 and 159: a closed stream reports closed and never becomes the default stream.
TEST_F(Stream, AClosedStreamThrowsClosed) {
  stream s{gpu};
  const event e{gpu};
  s.close();
  s.close();  // idempotent
  EXPECT_TRUE(s.closed());
  EXPECT_NE(s.get(), nullptr);
  EXPECT_EQ(result_of([&] { s.sync(); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.done()); }), errc::closed);
  EXPECT_EQ(s.status(), errc::closed);
  EXPECT_EQ(result_of([&] { s.record(e); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.record()); }), errc::closed);
  EXPECT_EQ(result_of([&] { s.wait(e); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.id()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.priority()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.device()); }), errc::closed);
  EXPECT_EQ(result_of([&] { s.shutdown(); }), errc::success);  // closing again does nothing
  EXPECT_EQ(to_string(s), "closed stream");
  const stream open{gpu};
  EXPECT_EQ(result_of([&] { open.wait(s); }), errc::closed);
}

TEST_F(Stream, AMovedFromStreamIsClosedAndTheTargetWorks) {
  stream s{gpu};
  CUstream_st* const raw = s.get();
  stream t = std::move(s);
  EXPECT_EQ(t.get(), raw);
  EXPECT_TRUE(s.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  EXPECT_EQ(result_of([&] { s.sync(); }), errc::closed);
  s = std::move(t);
  EXPECT_EQ(s.get(), raw);
  EXPECT_TRUE(s.done());
}

TEST_F(Stream, AnErrorNamesTheCallTheObjectTheLineAndTheRemedy) {
  stream s{gpu};
  s.close();
  const auto failure = failure_of([&] { s.sync(); });
  ASSERT_TRUE(failure);
  EXPECT_STREQ(failure->call(), "cuStreamSynchronize");
  EXPECT_EQ(failure->object(), "closed stream");
  EXPECT_NE(std::string{failure->where().file_name()}.find("stream_test.cpp"), std::string::npos);
  EXPECT_FALSE(failure->hint().empty());
  EXPECT_EQ(failure->code().category(), driver_category());
}

// Rule 41: pending work is no error, and an error is not reported as pending.
TEST_F(Stream, APollReturnsDoneNotReadyOrAnError) {
  const stream s{gpu};
  EXPECT_EQ(s.status(), errc::success);
  test::gate held{s};
  EXPECT_EQ(s.status(), errc::not_ready);
  EXPECT_FALSE(s.done());
  held.open();
  s.sync();
  EXPECT_TRUE(s.done());
}

// Rule 162: if all work succeeds, shutdown() waits and then closes.
TEST_F(Stream, ShutdownWaitsForTheWork) {
  stream s{gpu};
  test::gate held{s};
  const event behind = s.record();
  const test::gate_opener open_when_asked{held, &detail::driver_table::cuStreamSynchronize};
  s.shutdown();
  EXPECT_TRUE(s.closed());
  EXPECT_TRUE(behind.done());
}

// When memory that was used on a stream is destroyed, it queries the stream. So shutdown() is
// refused with a hint, and close() is allowed.
TEST_F(Stream, ShutdownIsRefusedWhileMemoryUsedOnTheStreamExists) {
  stream s{gpu};
  pinned_buffer<int> pinned{4};
  fill(s, pinned, 1);
  s.sync();
  const auto refused = test::failure_of([&] { s.shutdown(); });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::illegal_state);
  EXPECT_NE(refused->hint().find("pinned or managed memory"), std::string::npos);
  pinned.close();
  s.shutdown();
  EXPECT_TRUE(s.closed());
}

// Rule 6.
TEST_F(Stream, DefaultStreamsAreRecognizedByTheirHandles) {
  const context_scope current{gpu};
  EXPECT_TRUE(stream_ref::legacy().is_default());
  EXPECT_TRUE(stream_ref::per_thread().is_default());
  EXPECT_FALSE(stream{gpu}.ref().is_default());
  EXPECT_TRUE(stream_ref::legacy().is_blocking());
  EXPECT_EQ(stream_ref::legacy().priority(), 0);
  stream_ref::legacy().sync();
  EXPECT_EQ(to_string(stream_ref::legacy()), "legacy default stream");
  EXPECT_EQ(to_string(stream_ref::per_thread()), "per-thread default stream");
}

// Rule 14: a default stream belongs to the context that is current at the call.
TEST_F(Stream, ADefaultStreamWithoutACurrentContextIsAnErrorWithAHint) {
  std::thread{[&] {
    const auto failure = failure_of([] { stream_ref::legacy().sync(); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::invalid_context);
    EXPECT_NE(failure->hint().find("context_scope"), std::string::npos) << failure->what();
  }}.join();
}

TEST_F(Stream, PrintingMakesNoDriverCall) {
  stream s{gpu};
  EXPECT_NE(to_string(s).find("device 0"), std::string::npos) << to_string(s);
  EXPECT_FALSE(
      to_string(stream_ref{reinterpret_cast<CUstream_st*>(0x1234)}).empty());  // never existed
}

}  // namespace
}  // namespace weir
