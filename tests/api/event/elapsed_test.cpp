// SPDX-License-Identifier: Apache-2.0
// elapsed_test.cpp - the time between two records, and the four errors when there is none.
#include <weir/capture/capture.hpp>
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver;
using test::failure_of;
using test::gate;
using test::result_of;

class Elapsed : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

// Rule 54.
TEST_F(Elapsed, ElapsedTimeIsPositiveForwardsAndNegativeBackwards) {
  pinned_buffer<unsigned char> bytes{1 << 20};
  const timed_event a = s.record_timed();
  for (int i = 0; i < 16; ++i) fill(s, bytes, static_cast<unsigned char>(i));
  const timed_event b = s.record_timed();
  s.sync();
  EXPECT_GT(elapsed(a, b), 0.0f);
  EXPECT_LT(elapsed(b, a), 0.0f);
  EXPECT_EQ(elapsed(a, a), 0.0f);
}

// Rules 51 to 53.
TEST_F(Elapsed, ElapsedReportsFourDistinctErrors) {
  const timed_event never{gpu};
  const timed_event recorded = s.record_timed();
  s.sync();
  EXPECT_EQ(result_of([&] { static_cast<void>(elapsed(never, recorded)); }), errc::not_recorded);
  EXPECT_EQ(result_of([&] { static_cast<void>(elapsed(recorded, never)); }), errc::not_recorded);
  {
    gate held{s};
    const timed_event pending = s.record_timed();
    EXPECT_EQ(result_of([&] { static_cast<void>(elapsed(recorded, pending)); }), errc::not_ready);
    held.open();
    EXPECT_GE(sync_elapsed(recorded, pending), 0.0f);
  }
  const context_scope current{gpu};
  abi::CUevent plain = nullptr;
  ASSERT_EQ(driver().cuEventCreate(&plain, abi::CU_EVENT_DISABLE_TIMING), abi::CUDA_SUCCESS);
  s.record(event_ref{plain});
  s.sync();
  const errc untimed =
      result_of([&] { static_cast<void>(elapsed(recorded, timed_event_ref{plain})); });
  EXPECT_TRUE(untimed == errc::timing_disabled || untimed == errc::invalid_handle);
  EXPECT_EQ(driver().cuEventDestroy_v2(plain), abi::CUDA_SUCCESS);
  if (device::count() > 1) {
    const stream other{device{1}};
    const timed_event elsewhere = other.record_timed();
    other.sync();
    EXPECT_EQ(result_of([&] { static_cast<void>(elapsed(recorded, elsewhere)); }),
              errc::invalid_context);
  }
}

TEST_F(Elapsed, ElapsedUsesTheLastRecord) {
  const timed_event a = s.record_timed();
  const timed_event b = s.record_timed();
  s.record(a);
  s.sync();
  EXPECT_LE(elapsed(a, b), 0.0f);  // a was recorded again and is the later one now
}

TEST_F(Elapsed, ElapsedWorksAcrossStreams) {
  const stream t{gpu};
  const timed_event a = s.record_timed();
  t.wait(s);
  const timed_event b = t.record_timed();
  EXPECT_GE(sync_elapsed(a, b), 0.0f);
}

TEST_F(Elapsed, ElapsedOfAClosedEventReportsClosed) {
  timed_event a = s.record_timed();
  const timed_event b = s.record_timed();
  s.sync();
  a.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(elapsed(a, b)); }), errc::closed);
}

// The error names the event that is at fault, whichever of the two it is.
TEST_F(Elapsed, AnErrorNamesTheEventAtFault) {
  const timed_event recorded = s.record_timed();
  s.sync();
  const auto expect_named = [&](const timed_event& bad, errc code) {
    for (const bool first : {true, false}) {
      const auto failure = failure_of(
          [&] { static_cast<void>(first ? elapsed(bad, recorded) : elapsed(recorded, bad)); });
      ASSERT_TRUE(failure);
      EXPECT_EQ(failure->result(), code) << failure->what();
      EXPECT_EQ(failure->object(), to_string(bad)) << failure->what();
    }
  };
  const timed_event never{gpu};
  expect_named(never, errc::not_recorded);
  {
    gate held{s};
    const timed_event pending = s.record_timed();
    expect_named(pending, errc::not_ready);
    held.open();
    s.sync();
  }
  const timed_event captured{gpu};
  const graph g = capture(s, [&] {
    s.record(captured);
    expect_named(captured, errc::captured_event);
  });
  expect_named(captured, errc::invalid_value);
}

}  // namespace
}  // namespace weir
