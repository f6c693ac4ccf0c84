// exit_fixture.hpp - processes that end while something is left to weir's own thread.
#pragma once

#include <weir/core/deferred.hpp>
#include <weir/device/device.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <memory>

namespace weir::test {

// A process that hangs at its end is killed, and its test fails.
inline constexpr unsigned exit_timeout_seconds = 30;

// Keeps this thread, and its processor, for so long, as a test of patience has to.
inline void busy_wait(std::chrono::microseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) continue;
}

// Have statics been destroyed that closures may use?
inline std::atomic<bool> statics_are_destroyed{false};

// Has weir's thread begun, so that what is made before is destroyed after the first wait.
inline void start_reclaimer_thread() {
  const stream s{device{}};
  launch_host(s, [held = std::make_shared<int>(1)] {});
  s.sync();
  drain_deferred();
}

}  // namespace weir::test
