// SPDX-License-Identifier: Apache-2.0
// timer_test.cpp - timed sections of streams.
#include <weir/device/context.hpp>
#include <weir/device/green_context.hpp>
#include <weir/event/timer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/event_pool.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using detail::driver;
using detail::driver_table;
using detail::fault_table;
using test::gate;
using test::result_of;
using test::unhandled_errors;

class Timer : public ::testing::Test {
 protected:
  void take(std::string_view name) {
    const timer t{times, name, s};
    fill(s, bytes, 1);
  }

  device gpu;
  stream s{gpu};
  pinned_buffer<unsigned char> bytes{1 << 18};
  timings times;
};

TEST_F(Timer, ATimerCollectsTimesByName) {
  for (int i = 0; i < 3; ++i) take("a");
  take("b");
  times.sync();
  const std::vector<timing> all = times.all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "a");
  EXPECT_EQ(all[0].count, 3u);
  EXPECT_EQ(all[0].pending, 0u);
  EXPECT_GT(all[0].min, 0.0);
  EXPECT_LE(all[0].min, all[0].mean());
  EXPECT_LE(all[0].mean(), all[0].max);
  EXPECT_LE(all[0].max, all[0].total);
  EXPECT_GE(all[0].last, all[0].min);
  EXPECT_EQ(all[1].name, "b");
  EXPECT_EQ(all[1].count, 1u);
  EXPECT_EQ(all[1].total, all[1].last);
  EXPECT_FALSE(times.find("c"));
  EXPECT_EQ(times.find("a")->count, 3u);
}

// The time of an outer section is at least that of a section inside it.
TEST_F(Timer, TimerSectionsCanBeNested) {
  {
    const timer outer{times, "outer", s};
    fill(s, bytes, 1);
    take("inner");
  }
  times.sync();
  EXPECT_GE(times.find("outer")->total, times.find("inner")->total);
}

TEST_F(Timer, ATimerDoesNotWaitUntilItsTimingsAreSynchronized) {
  const fault_table calls;
  gate held{s};
  take("a");
  EXPECT_EQ(times.find("a")->pending, 1u);
  EXPECT_EQ(times.find("a")->count, 0u);
  EXPECT_EQ(times.find("a")->mean(), 0.0);
  EXPECT_EQ(calls.count(&driver_table::cuEventSynchronize), 0);
  EXPECT_EQ(calls.count(&driver_table::cuStreamSynchronize), 0);
  held.open();
  times.sync();
  EXPECT_EQ(times.find("a")->pending, 0u);
  EXPECT_EQ(times.find("a")->count, 1u);
}

// A section's events return to a pool for later sections.
TEST_F(Timer, ATimerReusesItsEvents) {
  take("a");
  times.sync();
  const fault_table calls;
  for (int i = 0; i < 10; ++i) {
    take("a");
    times.sync();
  }
  EXPECT_EQ(calls.count(&driver_table::cuEventCreate), 0);
  EXPECT_EQ(calls.count(&driver_table::cuEventRecord), 20);
}

TEST_F(Timer, ATimerCanBeStoppedOrCancelled) {
  {
    timer t{times, "a", s};
    t.stop();
    t.stop();
    timer never{times, "b", s};
    never.cancel();
    never.stop();
  }
  times.sync();
  EXPECT_EQ(times.find("a")->count, 1u);
  EXPECT_EQ(times.find("b")->count, 0u);
}

TEST_F(Timer, ClearRemovesPendingTimedSections) {
  gate held{s};
  take("a");
  times.clear();
  EXPECT_EQ(times.find("a")->pending, 0u);
  held.open();
  take("a");
  times.sync();
  EXPECT_EQ(times.find("a")->count, 1u);
}

// A captured event has no time, so the timer is refused before the driver sees it. The capture
// stays valid.
TEST_F(Timer, ATimerInACaptureIsRefused) {
  const unhandled_errors unhandled;
  std::optional<timer> open;
  open.emplace(times, "open", s);
  test::foreign_capture foreign{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  EXPECT_EQ(result_of([&] { const timer t{times, "a", s}; }), errc::stream_capture_unsupported);
  EXPECT_EQ(result_of([&] { open->stop(); }), errc::stream_capture_unsupported);
  const stream other{gpu};
  { const timer beside{times, "beside", other}; }
  EXPECT_EQ(times.find("open")->count, 0u);  // the query is allowed
  EXPECT_TRUE(foreign.end());
  times.sync();
  EXPECT_EQ(times.find("beside")->count, 1u);
  EXPECT_EQ(unhandled.count(), 0u);
}

TEST_F(Timer, ATimerMayOutliveItsTimings) {
  std::optional<timer> t;
  {
    timings gone;
    t.emplace(gone, "a", s);
  }
  t.reset();
  s.sync();
}

TEST_F(Timer, MovedTimingsKeepTheirSections) {
  take("a");
  timings moved = std::move(times);
  moved.sync();
  EXPECT_EQ(moved.find("a")->count, 1u);
  EXPECT_EQ(result_of([&] { take("b"); }), errc::closed);
  times.clear();
}

TEST_F(Timer, SeveralThreadsCanTimeTheirOwnStreams) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      const stream mine{gpu};
      for (int i = 0; i < 50; ++i) {
        const timer each{times, i % 2 == 0 ? "even" : "odd", mine};
        if (i % 10 == 0) static_cast<void>(times.all());
      }
      mine.sync();
    });
  }
  for (std::thread& thread : threads) thread.join();
  times.sync();
  EXPECT_EQ(times.find("even")->count, 100u);
  EXPECT_EQ(times.find("odd")->count, 100u);
}

// Events are kept per context, and the driver destroys them with their context. A later context may
// get the handle of the old one, as primary contexts do, and must not reuse them. weir must not
// destroy them again.
TEST_F(Timer, EventsOfADestroyedContextAreNotReused) {
  if (!gpu.is_embedded()) GTEST_SKIP() << "not verified on GPUs: the context ids must differ";
  test::in_a_fresh_process([] {
    const unhandled_errors unhandled;
    const device first;
    std::optional<timings> mine{std::in_place};
    const abi::CUcontext ended = first.primary_context().get();
    bool good = true;
    for (int life = 0; life < 2; ++life) {
      {
        const stream in_this{first};
        const fault_table calls;
        for (int again = 0; again < 2; ++again) {
          { const timer t{*mine, "a", in_this}; }
          mine->sync();
        }
        good &= WEIR_HOLDS(calls.count(&driver_table::cuEventCreate) == 2);
      }
      if (life == 0) {
        abi::CUcontext next = nullptr;
        good &= WEIR_HOLDS(driver().cuDevicePrimaryCtxReset_v2(0) == abi::CUDA_SUCCESS);
        good &= WEIR_HOLDS(driver().cuDevicePrimaryCtxRetain(&next, 0) == abi::CUDA_SUCCESS);
        good &= WEIR_HOLDS(next == ended);
      }
    }
    good &= WEIR_HOLDS(mine->find("a")->count == 4);
    const fault_table calls;
    mine.reset();
    return good && WEIR_HOLDS(calls.count(&driver_table::cuEventDestroy_v2) == 0) &&
           WEIR_HOLDS(unhandled.count() == 0);
  });
}

// A green context lives as long as its streams and the timings of its streams.
TEST_F(Timer, TimingsKeepTheirGreenContextAlive) {
  const unhandled_errors unhandled;
  const fault_table calls;
  {
    std::optional<green_context> part{std::in_place, sm_resource::query(gpu)};
    std::optional<stream> in_part{std::in_place, *part};
    { const timer t{times, "a", *in_part}; }
    in_part->sync();
    in_part.reset();
    part.reset();
  }
  EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 0);
  EXPECT_EQ(times.find("a")->count, 1u);
  times = timings{};
  EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 1);
  EXPECT_EQ(unhandled.count(), 0u);
}

TEST_F(Timer, ATimerInAHostFunctionIsRefused) {
  errc result = errc::success;
  launch_host(s, [&] { result = result_of([&] { const timer t{times, "a", s}; }); });
  s.sync();
  EXPECT_EQ(result, errc::not_permitted);
}

// A program that never queries its timings must not create two events for each section.
TEST_F(Timer, EventsAreReusedEvenIfTimingsAreNeverQueried) {
  take("a");
  s.sync();
  const fault_table calls;
  for (int i = 0; i < 20; ++i) {
    take("a");
    s.sync();
  }
  EXPECT_LE(calls.count(&driver_table::cuEventCreate), 2);
  times.sync();
  EXPECT_EQ(times.find("a")->count, 21u);
}

TEST_F(Timer, EventsAreReusedBesideASectionThatIsNotDone) {
  const stream t{gpu};
  if (test::share_hardware_queue(s, t)) GTEST_SKIP() << "the held stream would hold the other one";
  take("warm up");
  times.sync();
  gate held{s};
  take("held");
  const fault_table calls;
  for (int i = 0; i < 200; ++i) {
    { const timer section{times, "other", t}; }
    t.sync();
  }
  EXPECT_LE(calls.count(&driver_table::cuEventCreate), 8);
  held.open();
  times.sync();
}

TEST_F(Timer, EventsAboveTheLimitAreDestroyed) {
  if (!gpu.is_embedded()) GTEST_SKIP() << "a GPU's queue is too short for the sections";
  gate held{s};
  for (std::size_t i = 0; i <= detail::event_pool::max_events / 2; ++i)
    const timer t{times, "a", s};
  held.open();
  s.sync();
  const fault_table calls;
  times.sync();
  EXPECT_EQ(calls.count(&driver_table::cuEventDestroy_v2), 2);
}

}  // namespace
}  // namespace weir
