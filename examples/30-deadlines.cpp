// SPDX-License-Identifier: Apache-2.0
// Lesson 30: waits that end early. The wait ends and the work continues, so the memory that the
// work uses must stay alive.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <weir/weir.hpp>

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// Shared, so that this example can check whether it still exists. Allocated beforehand, because
// allocating pinned memory is slow.
using numbers = std::shared_ptr<weir::pinned_buffer<int>>;

// [give-up]
// The memory is part of the future's value, so it stays alive until the work is done, even if no
// caller waits for the work.
weir::future<numbers> request(weir::stream_ref s, numbers answer, int value) {
  return s.enqueue([&] {
    weir::fill(s, *answer, value);
    return std::move(answer);
  });
}

// Returns an answer in time, or none. On timeout the coroutine drops the future and leaves the work
// running.
weir::task<std::optional<int>> request_until(weir::stream_ref s, numbers memory,
                                             clock::time_point deadline) {
  weir::future<numbers> answer = request(s, std::move(memory), 1);
  if (!co_await answer.completion().until(deadline)) co_return std::nullopt;
  const numbers there = co_await std::move(answer);
  co_return (*there)[0];
}
// [/give-up]

// Returns the first answer.
weir::task<numbers> first_of(weir::future<numbers> a, weir::future<numbers> b) {
  const std::size_t first = co_await weir::when_any(a, b);
  co_return co_await std::move(first == 0 ? a : b);
}

}  // namespace

int main() {
  const weir::device gpu;
  const weir::stream slow{gpu};
  const weir::stream fast{gpu};
  numbers memory[3];
  for (numbers& each : memory) each = std::make_shared<weir::pinned_buffer<int>>(1000);
  const std::weak_ptr<weir::pinned_buffer<int>> abandoned = memory[0];

  // Work that lasts until the host ends it.
  weir::wait_word<std::uint32_t> go;
  weir::wait_value(slow, go, weir::until::geq, 1);
  const weir::completion end = slow.completion();

  // A wait with a timeout; false on timeout.
  const bool in_time = weir::sync_wait(end.within(2ms));

  // A wait with a deadline.
  const std::optional<int> none =
      weir::sync_wait(request_until(slow, std::move(memory[0]), clock::now() + 2ms));
  std::printf("within 2 ms: %s; by a deadline: %s; the memory is %s\n", in_time ? "done" : "late",
              none ? "answered" : "no answer", abandoned.expired() ? "gone" : "kept");
  const bool is_still_alive = !abandoned.expired();

  // A wait that ends when a stop is requested, here by the main thread. stop_when() also accepts a
  // timeout.
  weir::wait_status how = weir::wait_status::done;
  std::jthread waiting{[&](std::stop_token token) {
    how = weir::sync_wait(weir::stop_when(end, std::move(token)));
  }};
  waiting.request_stop();
  waiting.join();
  std::printf("a thread that was told to stop: %s\n",
              how == weir::wait_status::stopped ? "stopped" : "WRONG");

  // Two streams do equal work, and the program does not wait for the slower one.
  const numbers first = weir::sync_wait(
      first_of(request(slow, std::move(memory[1]), 2), request(fast, std::move(memory[2]), 3)));
  std::printf("the first answer: %d\n", (*first)[0]);

  // No wait has affected the work: it is still pending, finishes when it can, and then its memory
  // is freed.
  const bool held = !end.done();
  go.store(1);
  slow.sync();
  while (!abandoned.expired()) std::this_thread::yield();

  const bool right = !in_time && !none && is_still_alive && how == weir::wait_status::stopped &&
                     (*first)[0] == 3 && held && end.done();
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
