// SPDX-License-Identifier: Apache-2.0
// Lesson 28: a coroutine that awaits the work of a stream, and how soon it continues after the
// work.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <future>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>
#include <weir/weir.hpp>

namespace {

using clock = std::chrono::steady_clock;
using microseconds = std::chrono::duration<double, std::micro>;

constexpr std::size_t size = 1000;

// The memory is in the coroutine's frame and stays there during the await. If the work fails,
// co_await throws its error.
weir::task<int> sum_of(weir::stream_ref s, int value) {
  weir::buffer<int> there{s, size};
  weir::pinned_buffer<int> home{size};
  weir::fill(s, there, value);
  weir::copy(s, there, home);
  co_await s.completion();
  co_return std::accumulate(home.begin(), home.end(), 0);
}

// A coroutine can await another coroutine.
weir::task<int> difference(weir::stream_ref s) {
  co_return co_await sum_of(s, 7) - co_await sum_of(s, 2);
}

constexpr char source[] = R"(
  extern "C" __global__ void hold(volatile unsigned* begun, const volatile unsigned* go, unsigned number) {
    *begun = number;
    while (*go != number) {}
  }
)";

// Work that lasts until the host ends it, so that the host knows the end time.
class held_work {
 public:
  explicit held_work(weir::device gpu)
      : kernel_{weir::program{source}.compile(gpu).kernel("hold")} {}

  void queue(weir::stream_ref s) {
    weir::launch(s, {}, kernel_, begun_.get(), go_.get(), ++number_);
  }

  clock::time_point end() {
    while (begun_.load() != number_) std::this_thread::yield();
    const clock::time_point now = clock::now();
    go_.store(number_);
    return now;
  }

 private:
  weir::kernel kernel_;
  weir::wait_word<std::uint32_t> begun_, go_;
  std::uint32_t number_ = 0;
};

// Returns the time from the end of the work until a coroutine continues.
weir::task<microseconds> by_coroutine(weir::stream_ref s, held_work& work) {
  work.queue(s);
  const weir::completion done = s.completion();
  const clock::time_point end = work.end();
  co_await done;
  co_return clock::now() - end;
}

// Returns the time until a thread continues that a host function wakes.
microseconds by_host_function(weir::stream_ref s, held_work& work) {
  std::promise<void> promise;
  const std::future<void> done = promise.get_future();
  work.queue(s);
  weir::launch_host_once(s, [promise = std::move(promise)]() mutable { promise.set_value(); });
  const clock::time_point end = work.end();
  done.wait();
  return clock::now() - end;
}

double median(std::vector<microseconds> of) {
  std::nth_element(of.begin(), of.begin() + static_cast<std::ptrdiff_t>(of.size() / 2), of.end());
  return of[of.size() / 2].count();
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream s{gpu};

  // sync_wait() waits for a coroutine in ordinary code.
  const int sum = weir::sync_wait(sum_of(s, 3));
  const int other = weir::sync_wait(difference(s));
  std::printf("the sums are %d and %d\n", sum, other);

  // Without a coroutine: a value that becomes available when the work is done. Until then weir
  // keeps the value and its memory alive.
  weir::future<weir::pinned_buffer<int>> answer = s.enqueue([&] {
    weir::pinned_buffer<int> home{size};
    weir::fill(s, home, 4);
    return home;
  });
  const weir::pinned_buffer<int> home = std::move(answer).get();

  // Or a function that runs on a thread of weir after the work and receives its status.
  std::promise<weir::errc> outcome;
  std::future<weir::errc> outcome_future = outcome.get_future();
  s.completion().then(
      [outcome = std::move(outcome)](weir::errc how) mutable { outcome.set_value(how); });
  const bool succeeded = outcome_future.get() == weir::errc::success;

  held_work work{gpu};
  std::vector<microseconds> coroutine, host_function;
  for (int i = 0; i < 15; ++i) {
    coroutine.push_back(weir::sync_wait(by_coroutine(s, work)));
    host_function.push_back(by_host_function(s, work));
  }
  std::printf("after the end of the work, on %s:\n", gpu.name());
  std::printf("%8.1f us until a coroutine goes on\n", median(coroutine));
  std::printf("%8.1f us until a thread does that a function of the host wakes\n",
              median(host_function));

  return sum == 3000 && other == 5000 && home[size - 1] == 4 && succeeded ? 0 : 1;
}
