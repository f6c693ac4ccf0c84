// Lesson 7: looking without waiting, and waiting with an end.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  using namespace std::chrono_literals;
  const weir::stream s{weir::device{}};

  // Work that does not end until the host lets it: a host function holds the stream.
  std::atomic<bool> open{false};
  weir::launch_host(s, [&] { open.wait(false); });
  const weir::event end = s.record();

  // Polling has three answers: done, pending, and an exception for work that failed.
  const bool done_at_once = s.done();

  // false: the time passed first. The work is still there, and goes on.
  const bool done_in_time = s.sync_for(2ms);
  const bool reached_in_time = end.sync_until(std::chrono::steady_clock::now() + 2ms);
  std::printf("done at once: %d, after 2 ms: %d, %d\n", done_at_once, done_in_time,
              reached_in_time);

  open = true;
  open.notify_one();
  const bool done_at_last = s.sync_for(10s);
  return !done_at_once && !done_in_time && !reached_in_time && done_at_last && end.done() ? 0 : 1;
}
