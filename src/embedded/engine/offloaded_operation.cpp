// engine/offloaded_operation.cpp - what runs elsewhere.
#include "embedded/engine/offloaded_operation.hpp"

#include "embedded/engine/futex.hpp"
#include "embedded/engine/spin_lock.hpp"
#include "embedded/engine/thread_stopwatch.hpp"

namespace weir::embedded::engine {

using namespace std::chrono_literals;

void offloaded_operation::expect(const timeline& line) noexcept {
  line_ = &line;
  stage_ = not_started;
}

void offloaded_operation::wait(offload_target target, std::chrono::nanoseconds timeout) noexcept {
  constexpr int max_spins = 200;  // some 10 us
  for (int spins = 0; spins < max_spins && stage_ != finished; ++spins) pause();
  // It may be looking at a word, and yield, which the kernel does not tell from work, and for which
  // there is little time on a busy machine.
  const auto max_elapsed = 10 * timeout;
  const auto start = std::chrono::steady_clock::now();
  for (std::chrono::nanoseconds unpreempted{}, elapsed{};
       unpreempted < timeout && elapsed < max_elapsed;) {
    if (wait_for(timeout / 4)) return;
    const bool is_next =
        running(target) == 0;  // asked first: a thread counts before it says that it has begun
    elapsed = std::chrono::steady_clock::now() - start;
    if (stage_ == not_started) {
      unpreempted = is_next ? 0ns : elapsed;
    } else {
      unpreempted = thread_stopwatch{thread_, cpu_time_before_}.unpreempted_time(elapsed);
    }
  }
}

// True if it has run.
bool offloaded_operation::wait_for(std::chrono::nanoseconds limit) noexcept {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const std::uint32_t seen = stage_;
    if (seen == finished) return true;
    const auto remaining = end - std::chrono::steady_clock::now();
    if (remaining <= 0ns) return false;
    futex_wait_for(stage_, seen, remaining);
  }
}

void offloaded_operation::on_start(const timeline& line, offload_target target) noexcept {
  ++running(target);
  if (line_ != &line) return;
  thread_ = this_thread_id();
  cpu_time_before_ = thread_cpu_time(thread_);
  stage_ = started;
}

void offloaded_operation::on_finish(const timeline& line, offload_target target) noexcept {
  --running(target);
  if (line_ != &line) return;
  stage_ = finished;
  futex_wake(stage_, 1);
}

}  // namespace weir::embedded::engine
