// engine/deterministic_scheduler.hpp - the deterministic schedules: one operation at a time, chosen
// by a seed.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

#include "embedded/engine/offloaded_operation.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/schedule.hpp"
#include "embedded/engine/spin_lock.hpp"

namespace weir::embedded::engine {

class timeline;

// Takes the workers' place under schedule_kind::random and late. Operations run on the threads that
// submit and wait, in steps of one; which stream makes the next step follows from the seed and the
// program's own calls alone. So a run with one thread can be repeated exactly. Host functions and
// work that may take long run on threads of their own, for which the step waits.
//
// Three things depend on time. What runs elsewhere is waited for until it has taken quite long: a
// kernel may spin until another stream has done its part. A program may wait without a call, by
// looking at memory: for its sake a thread makes steps when there have been neither calls nor steps
// for a while. And other threads may never be silent meanwhile: where there are several, or
// somebody is to be told of a point, the same thread makes some steps in any case. The time for
// which a busy machine keeps a thread from its processor does not count in the first two
// (offloaded_operation.hpp, thread_stopwatch.hpp).
//
// Thread safety: all members, from any thread.
class deterministic_scheduler {
 public:
  explicit deterministic_scheduler(schedule config);

  // There is something to run in a timeline.
  void on_submit(timeline& line) noexcept;

  // Makes steps until the point is reached.
  void run_until(point target, on_failure policy) noexcept;
  // Makes one of these steps.
  step_result step_for(point target) noexcept;

  // What steps have passed on to threads of their own.
  [[nodiscard]] offloaded_operation& offloaded() noexcept { return offloaded_; }

 private:
  step_result step() noexcept;                      // one operation of any timeline
  step_result step_towards(point target) noexcept;  // one that stands between now and the point
  step_result run_one(timeline& line) noexcept;
  struct scan_state {
    std::size_t position = 0;
    std::size_t remaining = 0;  // that are left
    bool started = false;
  };
  [[nodiscard]] timeline* next_to_run(scan_state& scan) noexcept;
  void record_activity(std::atomic<std::uint64_t>& counter) noexcept;
  [[nodiscard]] bool has_active() noexcept;
  void make_background_steps() noexcept;

  const schedule schedule_;
  std::mutex step_mutex_;   // one step at a time; what a step submits finds it taken
  std::mt19937_64 random_;  // guarded by step_mutex_

  spin_lock active_lock_;
  std::vector<timeline*>
      active_;  // those that may have something to run; only a step takes one out

  offloaded_operation offloaded_;
  std::atomic<std::uint64_t> submissions_{0};  // so far; and of the steps made with them
  std::atomic<std::uint64_t> waits_{0};        // steps so far of threads that wait
  std::atomic<int> waits_in_progress_{
      0};  // of these threads; a step may take long: that is not silence
  std::atomic<bool> background_step_pending_{false};  // the patient thread, for its turn
  std::atomic<pid_t> first_thread_{0};                // that was active
  std::atomic<bool> multiple_threads_{false};         // have been
  std::atomic<bool> background_thread_started_{false};
};

}  // namespace weir::embedded::engine
