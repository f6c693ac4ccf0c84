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
  stage_ = (stage_ | stage_mask) + 1;  // the next step, not started
}

void offloaded_operation::wait_until_finished(offload_target target,
                                              std::chrono::nanoseconds timeout) noexcept {
  constexpr int max_spins = 200;  // some 10 us
  for (int spins = 0; spins < max_spins && current_stage() != finished; ++spins) os::pause();
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
    if (current_stage() == not_started) {
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
    if ((observed_stage & stage_mask) == finished) return true;
    const auto remaining = end - std::chrono::steady_clock::now();
    if (remaining <= 0ns) return false;
    os::futex_wait_for(stage_, observed_stage, remaining);
  }
}

offloaded_operation::step_number offloaded_operation::on_start(const timeline& line,
                                                               offload_target target) noexcept {
  ++running(target);
  std::uint32_t step = stage_;
  // Until an operation has started, no later step can own its timeline.
  if (line_ != &line) return no_step;
  thread_ = this_thread_id();
  cpu_time_before_ = thread_cpu_time(thread_);
  return stage_.compare_exchange_strong(step, step | started) ? step_number{step} : no_step;
}

// Leaves the stage of a later step unchanged.
void offloaded_operation::on_finish(step_number step, offload_target target) noexcept {
  --running(target);
  auto expected = static_cast<std::uint32_t>(step) | started;
  if (step == no_step || !stage_.compare_exchange_strong(expected, expected ^ started ^ finished))
    return;
  os::futex_wake(stage_, 1);
}

}  // namespace weir::embedded::engine
