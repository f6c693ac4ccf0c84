// Lesson 30: waits that end early. What ends is the wait and never the work, so the memory that the
// work uses has to stay.
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

// Shared, so that this lesson can look whether it is still there. Made beforehand, as pinned memory
// is slow to make.
using numbers = std::shared_ptr<weir::pinned_buffer<int>>;

// [give-up]
// The memory is part of the future's value, and so it stays until the work is done, also if nobody
// waits for that.
weir::future<numbers> request(weir::stream_ref s, numbers answer, int value) {
  return s.enqueue_async([&] {
    weir::fill(s, *answer, value);
    return std::move(answer);
  });
}

// An answer in time, or none. Who gives up drops the future, and need not care for what is still
// under way.
weir::task<std::optional<int>> request_until(weir::stream_ref s, numbers memory,
                                             clock::time_point deadline) {
  weir::future<numbers> answer = request(s, std::move(memory), 1);
  if (!co_await answer.completion().by(deadline)) co_return std::nullopt;
  const numbers there = co_await std::move(answer);
  co_return (*there)[0];
}
// [/give-up]

// The first answer wins.
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

  // Work that does not end until the host lets it.
  weir::wait_word<std::uint32_t> go;
  weir::wait_value(slow, go, weir::until::geq, 1);
  const weir::completion end = slow.completion();

  // For so long; false: the time passed first.
  const bool in_time = weir::sync_wait(end.within(2ms));

  // Until a point in time.
  const std::optional<int> none =
      weir::sync_wait(request_until(slow, std::move(memory[0]), clock::now() + 2ms));
  std::printf("within 2 ms: %s; by a deadline: %s; the memory is %s\n", in_time ? "done" : "late",
              none ? "answered" : "no answer", abandoned.expired() ? "gone" : "kept");
  const bool is_still_alive = !abandoned.expired();

  // Until somebody says so: here whoever ends the thread that waits. With a time it would end then,
  // too.
  weir::wait_status how = weir::wait_status::done;
  std::jthread waiting{[&](std::stop_token token) {
    how = weir::sync_wait(weir::stop_when(end, std::move(token)));
  }};
  waiting.request_stop();
  waiting.join();
  std::printf("a thread that was told to stop: %s\n",
              how == weir::wait_status::stopped ? "stopped" : "WRONG");

  // Two streams are asked the same, and nobody waits for the one that is late.
  const numbers first = weir::sync_wait(
      first_of(request(slow, std::move(memory[1]), 2), request(fast, std::move(memory[2]), 3)));
  std::printf("the first answer: %d\n", (*first)[0]);

  // No wait has changed anything: the work is where it was, ends when it can, and then its memory
  // goes.
  const bool held = !end.done();
  go.store(1);
  slow.sync();
  while (!abandoned.expired()) std::this_thread::yield();

  const bool right = !in_time && !none && is_still_alive && how == weir::wait_status::stopped &&
                     (*first)[0] == 3 && held && end.done();
  std::printf("%s\n", right ? "as it should be" : "WRONG");
  return right ? 0 : 1;
}
