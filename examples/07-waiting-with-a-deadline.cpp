// SPDX-License-Identifier: Apache-2.0
// Lesson 7: queries without waiting, and waits with a timeout.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  using namespace std::chrono_literals;
  const weir::stream s{weir::device{}};

  // Work that lasts until the host ends it: a host function blocks the stream.
  std::atomic<bool> open{false};
  weir::launch_host(s, [&] { open.wait(false); });
  const weir::event end = s.record();

  // A query returns done or not done, and throws if the work has failed.
  const bool done_at_once = s.done();

  // false on timeout. The work is not cancelled.
  const bool done_in_time = s.sync_for(2ms);
  const bool reached_in_time = end.sync_until(std::chrono::steady_clock::now() + 2ms);
  std::printf("done at once: %d, after 2 ms: %d, %d\n", done_at_once, done_in_time,
              reached_in_time);

  open = true;
  open.notify_one();
  const bool done_at_last = s.sync_for(10s);
  return !done_at_once && !done_in_time && !reached_in_time && done_at_last && end.done() ? 0 : 1;
}
