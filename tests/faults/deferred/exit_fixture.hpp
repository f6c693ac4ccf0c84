// SPDX-License-Identifier: Apache-2.0
// exit_fixture.hpp - processes that exit while tasks are left to the reclaimer thread.
#pragma once

#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <memory>

namespace weir::test {

// Kills a process that hangs at exit, so that its test fails.
inline constexpr unsigned exit_timeout_seconds = 30;

// Keeps the calling thread busy for the given time, as a test of timeouts needs it.
inline void busy_wait(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) continue;
}

// True once the statics that closures may use have been destroyed.
inline std::atomic<bool> statics_are_destroyed{false};

// Starts the reclaimer thread, so that statics constructed before are destroyed after the first
// wait of exit.
inline void start_reclaimer_thread() {
  const stream s{device{}};
  launch_host(s, [held = std::make_shared<int>(1)] {});
  s.sync();
  drain_deferred();
}

}  // namespace weir::test
