// deferred_test.cpp - destruction that waits for a better moment: in host functions, in captures, in use.
#include <weir/buffer.hpp>
#include <weir/context.hpp>
#include <weir/copy.hpp>
#include <weir/deferred.hpp>
#include <weir/fill.hpp>
#include <weir/host_function.hpp>
#include <weir/pinned_buffer.hpp>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "api/guard.hpp"
#include "driver/failing.hpp"
#include "support/child.hpp"
#include "support/gate.hpp"
#include "support/unraised.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::failing_table;
using test::gate;
using test::unraised_errors;

class Deferred : public ::testing::Test {
 protected:
  Deferred() { drain_deferred(); }

  device gpu;
  stream s{gpu};
};

TEST_F(Deferred, WithNothingToDoThereIsNothingToWaitFor) {
  EXPECT_EQ(deferred_count(), 0u);
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
}

// Rule 75: a destruction in a host function makes its driver call elsewhere.
TEST_F(Deferred, DestructionsInHostFunctionsHappenElsewhere) {
  auto mark = std::make_unique<event>(gpu);
  auto memory = std::make_unique<buffer<int>>(s, 10);
  auto owner = std::make_unique<stream>(gpu);
  const failing_table calls;
  std::size_t left = 0;
  launch_host(s, [&] {
    const detail::capture_mark capture;  // keeps the frees from being done meanwhile
    memory.reset();
    left = deferred_count();
    mark.reset();
    owner.reset();
    drain_deferred();  // does nothing here, and does not wait
  });
  s.sync();
  drain_deferred();
  EXPECT_GE(left, 1u);
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(calls.count(&driver_table::cuEventDestroy_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

// Rule 115: frees would break a capture; they wait until it has ended.
TEST_F(Deferred, FreesWaitForTheEndOfCaptures) {
  std::optional<buffer<int>> memory{std::in_place, s, 10};
  std::optional<pinned_buffer<int>> pinned{std::in_place, 10};
  std::optional<context> kept{gpu};
  const failing_table calls;
  {
    const detail::capture_mark capture;
    memory.reset();
    pinned.reset();
    kept.reset();
    EXPECT_EQ(deferred_count(), 3u);
    drain_deferred();  // returns: these wait for the capture
    EXPECT_EQ(deferred_count(), 3u);
    EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 0);
    EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 0);
    EXPECT_EQ(calls.count(&driver_table::cuDevicePrimaryCtxRelease_v2), 0);
  }
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeAsync), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemFreeHost), 1);
  EXPECT_EQ(calls.count(&driver_table::cuDevicePrimaryCtxRelease_v2), 1);
}

// Streams and events are no frees: a capture does not mind them.
TEST_F(Deferred, StreamsAndEventsGoAtOnceDuringCaptures) {
  const detail::capture_mark capture;
  const failing_table calls;
  { const event e{gpu}; }
  { const stream t{gpu}; }
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(calls.count(&driver_table::cuEventDestroy_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1);
}

TEST_F(Deferred, DrainingWaitsForPinnedMemoryInUse) {
  gate held{s};
  {
    pinned_buffer<unsigned> pinned{10};
    fill(s, pinned, 1u);
  }
  EXPECT_EQ(deferred_count(), 1u);
  std::thread opener{[&] { held.open(); }};
  drain_deferred();
  opener.join();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_TRUE(s.done());
}

TEST_F(Deferred, ManyThreadsMayLeaveAndDrain) {
  const unraised_errors unraised;
  gate held{s};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        pinned_buffer<unsigned> pinned{10};
        fill(s, pinned, 1u);
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(deferred_count(), 80u);
  held.open();
  threads.clear();
  for (int i = 0; i < 4; ++i) threads.emplace_back([] { drain_deferred(); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(unraised.count(), 0u);
}

// Rule 168: objects that outlive main() end well, in whatever order.
TEST(Statics, AreSafeToTheVeryEnd) {
  test::in_a_fresh_process([] {
    on_unraised_error([](std::exception_ptr) noexcept { std::_Exit(3); });
    const device gpu;
    static stream s{gpu};
    static stream t{gpu};
    static buffer<unsigned> memory{s, 100};
    static pinned_buffer<unsigned> pinned{100};
    static event mark = s.record();
    static timed_event timed = t.record_timed();
    static context kept{gpu};
    t.wait(s);
    copy(t, memory, pinned);
    launch_host(s, [] {});
    return true;
  });
}

// The same for those of the main thread, which end before the statics.
TEST(Statics, ThreadLocalsAreSafeToo) {
  test::in_a_fresh_process([] {
    on_unraised_error([](std::exception_ptr) noexcept { std::_Exit(3); });
    thread_local stream s{device{}};
    thread_local buffer<unsigned> memory{s, 100};
    thread_local stream t{device{}};
    t.wait(s);
    fill(t, memory, 1u);
    return true;
  });
}

}  // namespace
}  // namespace weir
