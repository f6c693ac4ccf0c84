// SPDX-License-Identifier: Apache-2.0
// faults/completion/completion_fixture.hpp - completions while each driver call fails in turn.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/completion/when.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/stream.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/stream/stream_state.hpp"
#include "driver/event_pool.hpp"
#include "faults/every_call.hpp"
#include "support/detached.hpp"
#include "support/gate.hpp"
#include "support/recorded_outcome.hpp"
#include "support/table_override.hpp"

namespace weir::test {

inline constexpr abi::CUresult refused =
    abi::CUDA_ERROR_SYSTEM_NOT_READY;  // a code without special handling

// Throws the error of the work.
template <class Wait>
detached await_with_timeout(Wait wait, recorded_outcome& to) {
  errc how = errc::success;
  try {
    co_await wait.within(std::chrono::hours{1});
  } catch (const error& e) {
    how = e.result();
  }
  to.record(how);
}

class CompletionFaults : public ::testing::Test {
 protected:
  static inline std::atomic<int> live_events{0};
  static inline std::atomic<int> completed_so_far{0};
  // The lowest value of completed_so_far when an event was destroyed.
  static inline std::atomic<int> completed_when_destroyed{0};

  // Calls run(stream, name) once without a failure, and then once for each driver call that it
  // makes, with that call failing. `name` is the name of the failed call. Expects that run() leaves
  // few events.
  template <class Run>
  void with_each_call_failing(const Run& run) {
    std::vector<int> counts;
    {
      gate{stream{gpu}};  // creates what all gates share
      const fault_table calls;
      const stream s{gpu};
      empty_event_pool();
      const std::vector<int> before = call_counts_of(calls);
      run(s, std::string_view{});
      counts = call_counts_of(calls);
      constexpr int most = 12;  // the reactor thread may poll any number of times
      for (std::size_t i = 0; i < counts.size(); ++i) {
        const bool belongs_to_gate = driver_functions[i].symbol == "cuStreamWaitValue32_v2";
        counts[i] = belongs_to_gate ? 0 : std::min(counts[i] - before[i], most);
      }
    }
    const int before = live_events;
    for_each_call(counts, [&](const driver_function& function, int nth) {
      fault_table faults;
      const stream s{gpu};
      empty_event_pool();
      function.fail(faults, nth, refused);
      run(s, std::string_view{function.name});
      function.fail(faults, 1'000'000, refused);  // destroying the stream must not fail
    });
    constexpr int few = 20;
    while (live_events - before > few) std::this_thread::yield();
  }

  // Takes all unused events from the pool, so that run() must create new ones.
  void empty_event_pool() const {
    const context_ref context = gpu.primary_context();
    const unsigned long long number = detail::context_id_of(context.get(), call_site::current());
    std::vector<abi::CUevent> kept;
    const int before = live_events;
    while (live_events == before) {
      abi::CUevent event = nullptr;
      ASSERT_EQ(detail::event_pool::instance().acquire(context.get(), number, event).code,
                errc::success);
      kept.push_back(event);
    }
    detail::destroy_events(kept);
  }

  // Returns what make() returns. If make() throws, expects the failed call's error and returns
  // nothing.
  template <class Make>
  static std::optional<completion> make_or_expect_failure(const Make& make,
                                                          std::string_view failing) {
    std::optional<completion> made;
    if (const auto failure = failure_of([&] { made = make(); })) {
      EXPECT_EQ(failure->result(), errc::system_not_ready);
      EXPECT_EQ(failure->call(), failing);
      EXPECT_GT(failure->where().line(), 0U);
    }
    return made;
  }

  // Calls the original driver function, which does not fail.
  static void sync(const stream& s) {
    EXPECT_EQ(table_override::original().cuStreamSynchronize(s.get()), abi::CUDA_SUCCESS);
  }

  static void expect_completed_once(const std::deque<recorded_outcome>& all) {
    for (const recorded_outcome& each : all) {
      while (each.deliveries == 0) std::this_thread::yield();
      EXPECT_TRUE(each.outcome == errc::success || each.outcome == errc::system_not_ready);
    }
    for (const recorded_outcome& each : all) EXPECT_EQ(each.deliveries, 1);
  }

  const table_override counting{[](driver_table& t) {
    t.cuEventCreate = [](abi::CUevent* event, unsigned flags) {
      ++live_events;
      return table_override::original().cuEventCreate(event, flags);
    };
    t.cuEventDestroy_v2 = [](abi::CUevent event) {
      --live_events;
      completed_when_destroyed = std::min(completed_when_destroyed.load(), completed_so_far.load());
      return table_override::original().cuEventDestroy_v2(event);
    };
  }};
  device gpu;
};

}  // namespace weir::test
