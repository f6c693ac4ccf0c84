// SPDX-License-Identifier: Apache-2.0
// deferred_exit_test.cpp - tasks that are left to the reclaimer thread when the process exits.
#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/device/green_context.hpp>
#include <weir/event/event.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <thread>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::gate;

// Kills a process that hangs at exit, so that its test fails.
constexpr unsigned exit_timeout_seconds = 30;

// Keeps the device busy for the rest of the process. The pointers are global so that leak checkers
// reach the objects.
stream* volatile held_up = nullptr;
gate* volatile held = nullptr;
void hold_for_ever(device gpu) {
  held_up = new stream{gpu};
  held = new gate{*held_up};
}

using pinned_memory = std::optional<pinned_buffer<int>>;

void use(device gpu, pinned_memory& memory) {
  const stream s{gpu};
  fill(s, memory.emplace(10), 1);
  s.sync();
}

// Objects whose destructors call the driver.
struct belongings {
  explicit belongings(device gpu) : s{gpu}, mark{s.record()}, memory{s, 10} {}

  stream s;
  event mark;
  buffer<int> memory;
};

// Some drivers free pinned memory only on an idle device and block other calls meanwhile. This
// device is never idle.
TEST(DeferredExit, ExitDoesNotWaitForADeviceThatTheReclaimerThreadWaitsFor) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    const device gpu;
    const auto* const calls = new fault_table;
    static belongings end_last{gpu};
    pinned_memory memory;
    use(gpu, memory);
    static belongings end_first{gpu};
    hold_for_ever(gpu);
    memory.reset();
    while (calls->count(&driver_table::cuMemFreeHost) == 0) std::this_thread::yield();
    return true;
  });
}

TEST(DeferredExit, ExitDoesNotWaitForADeviceWhenMemoryIsDroppedLast) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    const device gpu;
    static belongings end_last{gpu};
    static pinned_memory dropped_at_exit;
    use(gpu, dropped_at_exit);
    pinned_memory dropped_now;
    use(gpu, dropped_now);
    hold_for_ever(gpu);
    dropped_now.reset();
    return true;
  });
}

// Another thread blocks in the driver and never returns.
TEST(DeferredExit, ExitDoesNotWaitForADeviceThatAnotherThreadWaitsFor) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    static const device gpu;
    // A static pointer, so that leak checkers reach what is never destroyed.
    static const fault_table* volatile calls = new fault_table;
    static pinned_memory dropped_at_exit;
    use(gpu, dropped_at_exit);
    static pinned_memory* volatile closed = new pinned_memory;
    use(gpu, *closed);
    hold_for_ever(gpu);
    std::thread{[] { (*closed)->close(); }}.detach();
    while (calls->count(&driver_table::cuMemFreeHost) == 0) std::this_thread::yield();
    return true;
  });
}

TEST(DeferredExit, ExitDoesNotWaitForADeviceWhenAGreenContextIsDropped) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    const device gpu;
    static const green_context part{sm_resource::query(gpu)};
    static const stream in_part{part};
    hold_for_ever(gpu);
    return true;
  });
}

// Exit does not wait for a busy device either if other threads keep deferring the destruction of
// objects.
TEST(DeferredExit, ExitDoesNotWaitForADeviceWhileThreadsDropClosures) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    static const device gpu;
    static std::atomic<int> rounds{0};
    std::thread{[] {
      try {
        for (const stream s{gpu};; ++rounds) {
          launch_host(s, [held = std::make_shared<int>(1)] {});
          s.sync();
        }
      } catch (const std::exception&) {
        // The driver has shut down.
      }
    }}.detach();
    hold_for_ever(gpu);
    pinned_memory in_use{std::in_place, 10};
    fill(*held_up, *in_use, 1);
    in_use.reset();
    while (rounds < 10) std::this_thread::yield();
    return true;
  });
}

// Destroyed after everything that weir runs at exit.
struct freed_by_now {
  freed_by_now() = default;
  freed_by_now(const freed_by_now&) = delete;
  freed_by_now& operator=(const freed_by_now&) = delete;
  ~freed_by_now() {
    if (calls == nullptr) return;
    if (calls->count(&driver_table::cuMemFreeHost) != 1 || deferred_count() != 0) std::_Exit(3);
  }

  fault_table* calls = nullptr;
};
freed_by_now last_of_all;

// For leak checkers: unused memory is freed.
TEST(DeferredExit, ExitFreesMemoryThatNothingUses) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    last_of_all.calls = new fault_table;
    pinned_memory memory;
    use(device{}, memory);
    memory.reset();
    return true;
  });
}

// Threads that are never stopped keep dropping memory during exit, and its frees are deferred.
TEST(DeferredExit, ExitDoesNotWaitForTasksDeferredDuringExit) {
  test::in_a_fresh_process([] {
    alarm(exit_timeout_seconds);
    static const device gpu;
    static std::atomic<int> rounds{0};
    for (int i = 0; i < 2; ++i) {
      std::thread{[] {
        try {
          for (pinned_memory memory;; ++rounds) use(gpu, memory);
        } catch (const std::exception&) {
          // The driver has shut down.
        }
      }}.detach();
    }
    while (rounds < 100) std::this_thread::yield();
    return true;
  });
}

}  // namespace
}  // namespace weir
