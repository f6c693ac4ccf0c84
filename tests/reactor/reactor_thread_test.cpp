// SPDX-License-Identifier: Apache-2.0
// reactor_thread_test.cpp - the reactor's thread sleeps while no waiter needs it.
#include <weir/completion/completion.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "support/fault_table.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"

namespace weir::detail {
namespace {

using test::gate;

// Returns the rest of the first line that starts with `begin`.
std::string value_in_file(const std::filesystem::path& file, const std::string& begin) {
  std::ifstream in{file};
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(begin)) return line.substr(begin.size());
  }
  return {};
}

// Returns how often the reactors' threads of this process have gone to sleep. A sleep has no other
// visible effect.
long times_asleep() {
  long times = 0;
  for (const auto& thread : std::filesystem::directory_iterator{"/proc/self/task"}) {
    if (value_in_file(thread.path() / "comm", "").starts_with("weir-reactor")) {
      times += std::stol(value_in_file(thread.path() / "status", "voluntary_ctxt_switches:"));
    }
  }
  return times;
}

bool thread_sleeps_while_nothing_is_awaited(bool polled) {
  const device gpu;
  std::optional<fault_table> calls;
  if (polled) calls.emplace();
  const stream s{gpu};
  pinned_buffer<int> x{1};
  std::atomic<bool> called{false};
  {
    const gate held{s};
    s.completion().then([&] { called = true; });
  }
  while (!called) std::this_thread::yield();
  if (!WEIR_HOLDS(times_asleep() > 0)) return false;
  // The thread may still be falling asleep in the first attempt. A thread that polls from time to
  // time would wake up in each attempt. An attempt has a length in time, because a round may take a
  // thousand times as long on a busy machine.
  using clock = std::chrono::steady_clock;
  constexpr int attempts = 10;
  constexpr std::chrono::milliseconds a_while{40};
  for (int i = 0; i < attempts; ++i) {
    const long before = times_asleep();
    const int questions = polled ? calls->count(&driver_table::cuEventQuery) : 0;
    const clock::time_point until = clock::now() + a_while;
    do {
      fill(s, x, i);
      s.sync();
    } while (clock::now() < until);
    if (times_asleep() == before &&
        (!polled || calls->count(&driver_table::cuEventQuery) == questions))
      return true;
  }
  return WEIR_HOLDS(!"woken in each attempt, though nobody awaited anything");
}

TEST(ReactorThread, TheReactorThreadSleepsThroughUnawaitedWork) {
  for (const bool polled : {false, true}) {
    test::in_a_fresh_process([polled] { return thread_sleeps_while_nothing_is_awaited(polled); });
  }
}

}  // namespace
}  // namespace weir::detail
