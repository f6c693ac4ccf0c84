// SPDX-License-Identifier: Apache-2.0
// embedded/engine/offloaded_operation.cpp - waits for an operation that runs on another thread.
#include "embedded/engine/offloaded_operation.hpp"

#include "embedded/engine/thread_stopwatch.hpp"
#include "os/futex.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

using namespace std::chrono_literals;

void offloaded_operation::expect_offload(const timeline& line) noexcept {
  line_ = &line;
  stage_ = not_started;
}

void offloaded_operation::wait_until_finished(offload_target target,
                                              std::chrono::nanoseconds timeout) noexcept {
  constexpr int max_spins = 200;  // some 10 us
  for (int spins = 0; spins < max_spins && stage_ != finished; ++spins) os::pause();
  // The operation may poll a word and yield, which the kernel reports as running. On a busy machine
  // it then gets little processor time, so the total wait is limited, too.
  const auto max_elapsed = 10 * timeout;
  const auto start = std::chrono::steady_clock::now();
  for (std::chrono::nanoseconds unpreempted{}, elapsed{};
       unpreempted < timeout && elapsed < max_elapsed;) {
    if (wait_finished_for(timeout / 4)) return;
    // True if no other operation runs on these threads, so that this one starts as soon as its
    // thread gets a processor. Must be read before `stage_`: a thread counts as running before it
    // sets `started`.
    const bool is_next = running(target) == 0;
    elapsed = std::chrono::steady_clock::now() - start;
    if (stage_ == not_started) {
      unpreempted = is_next ? 0ns : elapsed;
    } else {
      unpreempted = thread_stopwatch{thread_, cpu_time_before_}.unpreempted_time(elapsed);
    }
  }
}

// Waits for at most `limit`. Returns true if the operation has run.
bool offloaded_operation::wait_finished_for(std::chrono::nanoseconds limit) noexcept {
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const std::uint32_t observed_stage = stage_;
    if (observed_stage == finished) return true;
    const auto remaining = end - std::chrono::steady_clock::now();
    if (remaining <= 0ns) return false;
    os::futex_wait_for(stage_, observed_stage, remaining);
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
  os::futex_wake(stage_, 1);
}

}  // namespace weir::embedded::engine
