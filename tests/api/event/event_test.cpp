// SPDX-License-Identifier: Apache-2.0
// event_test.cpp - creating, recording, querying, waiting for and destroying events.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

#include <thread>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/gate_opener.hpp"

namespace weir {
namespace {

using detail::driver;
using test::gate;
using test::result_of;

class Event : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

static_assert(!std::is_constructible_v<event_ref, int> && !std::is_default_constructible_v<event>);
static_assert(!std::is_copy_constructible_v<event> && std::is_nothrow_move_constructible_v<event>);
// elapsed() of an event without timing does not compile.
template <class A, class B>
concept has_elapsed = requires(const A& a, const B& b) {
  elapsed(a, b);
};
static_assert(has_elapsed<timed_event, timed_event> && !has_elapsed<event, timed_event> &&
              !has_elapsed<event, event>);
static_assert(!std::is_convertible_v<event_ref, timed_event_ref>);

// Rule 50.
TEST_F(Event, AnEventThatWasNeverRecordedIsDone) {
  const event e{gpu};
  EXPECT_TRUE(e.done());
  EXPECT_EQ(e.status(), errc::success);
  e.sync();
}

TEST_F(Event, ARecordedEventIsDoneWhenTheEarlierWorkIs) {
  gate held{s};
  const event e = s.record();
  EXPECT_FALSE(e.done());
  EXPECT_EQ(e.status(), errc::not_ready);
  gate later{s};  // work after the record is not part of the record
  held.open();
  e.sync();
  EXPECT_TRUE(e.done());
  EXPECT_FALSE(s.done());
}

TEST_F(Event, ARecordReplacesThePreviousRecord) {
  stream t{gpu};
  gate held{s};
  const event e = s.record();
  EXPECT_FALSE(e.done());
  t.record(e);
  e.sync();
  EXPECT_TRUE(e.done());
  s.record(e);
  EXPECT_FALSE(e.done());
  held.open();
  e.sync();
}

// Rule 55 requires a wait that sleeps; the test can only check that the wait works.
TEST_F(Event, AnEventWithBlockingSyncWaitsForTheWork) {
  const event e{gpu, {.blocking_sync = true}};
  EXPECT_TRUE(e.blocking_sync());
  gate held{s};
  s.record(e);
  EXPECT_FALSE(e.done());
  const test::gate_opener open_when_asked{held, &detail::driver_table::cuEventSynchronize};
  e.sync();
  EXPECT_TRUE(e.done());
}

TEST_F(Event, AnyThreadCanQueryAnEventAndWaitForIt) {
  gate held{s};
  const event e = s.record();
  std::thread other{[&] {
    EXPECT_FALSE(e.done());
    held.open();
    e.sync();
    EXPECT_TRUE(e.done());
  }};
  other.join();
}

TEST_F(Event, AnEventReportsItsDeviceAndContext) {
  const event e{gpu};
  EXPECT_EQ(e.device(), gpu);
  EXPECT_EQ(e.context(), gpu.primary_context());
  const timed_event t{gpu};
  EXPECT_EQ(t.device(), gpu);
  EXPECT_FALSE(t.blocking_sync());
}

TEST_F(Event, AdoptTakesOwnershipAndReleaseGivesItUp) {
  const context_scope current{gpu};
  abi::CUevent raw = nullptr;
  ASSERT_EQ(driver().cuEventCreate(&raw, abi::CU_EVENT_DISABLE_TIMING), abi::CUDA_SUCCESS);
  event e = event::adopt(raw, gpu.primary_context());
  s.record(e);
  e.sync();
  EXPECT_EQ(e.release(), raw);
  EXPECT_TRUE(e.closed());
  EXPECT_EQ(driver().cuEventDestroy_v2(raw), abi::CUDA_SUCCESS);
  EXPECT_EQ(result_of([&] { static_cast<void>(event::adopt(nullptr, gpu.primary_context())); }),
            errc::invalid_handle);
}

TEST_F(Event, EveryUseOfAClosedEventReportsClosed) {
  event e = s.record();
  e.close();
  e.close();
  EXPECT_TRUE(e.closed());
  EXPECT_EQ(result_of([&] { static_cast<void>(e.done()); }), errc::closed);
  EXPECT_EQ(e.status(), errc::closed);
  EXPECT_EQ(result_of([&] { e.sync(); }), errc::closed);
  EXPECT_EQ(result_of([&] { s.record(e); }), errc::closed);
  EXPECT_EQ(result_of([&] { s.wait(e); }), errc::closed);
  EXPECT_EQ(to_string(e), "closed event");
}

TEST_F(Event, AnEventInAClosedContextIsRefused) {
  context kept{gpu};
  kept.close();
  EXPECT_EQ(result_of([&] { event{kept}; }), errc::closed);
  EXPECT_EQ(result_of([&] { timed_event{kept}; }), errc::closed);
}

TEST_F(Event, AMovedFromEventIsClosedAndItsTargetWorks) {
  event e = s.record();
  CUevent_st* const raw = e.get();
  event f = std::move(e);
  EXPECT_TRUE(e.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  EXPECT_EQ(f.get(), raw);
  f.sync();
}

TEST_F(Event, APendingEventIsDestroyedWithoutWaiting) {
  gate held{s};
  { const event e = s.record(); }
  EXPECT_FALSE(s.done());
}

// Rule 36: an event can be recorded only in its own context.
TEST_F(Event, ARecordOnAStreamOfAnotherDeviceIsRefused) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream other{device{1}};
  const event e{gpu};
  EXPECT_EQ(result_of([&] { other.record(e); }), errc::invalid_handle);
  gate held{s};
  s.record(e);
  other.wait(e);  // waiting for it on another device is allowed
  EXPECT_FALSE(other.done());
  held.open();
  other.sync();
}

}  // namespace
}  // namespace weir
