// engine/conductor.hpp - the deterministic schedules: one operation at a time, chosen by a seed.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <random>
#include <vector>

#include "embedded/engine/operation.hpp"
#include "embedded/engine/passed_on.hpp"
#include "embedded/engine/schedule.hpp"
#include "embedded/engine/spin_lock.hpp"

namespace weir::embedded::engine {

class timeline;

// Takes the workers' place under schedule_kind::random and late. Operations run on the threads that submit and wait, in steps of one;
// which stream makes the next step follows from the seed and the program's own calls alone. So a run with one thread can be repeated exactly.
// Host functions and work that may take long run on threads of their own, for which the step waits.
//
// Three things depend on time. What runs elsewhere is waited for until it has taken quite long: a kernel may spin until another
// stream has done its part. A program may wait without a call, by looking at memory: for its sake a thread makes steps when
// there have been neither calls nor steps for a while. And other threads may never be silent meanwhile: where there are several,
// or somebody is to be told of a point, the same thread makes some steps in any case. The time for which a busy machine keeps
// a thread from its processor does not count in the first two (passed_on.hpp, thread_watch.hpp).
//
// Thread safety: all members, from any thread.
class conductor {
 public:
  explicit conductor(schedule how);

  // There is something to run in a timeline.
  void submitted(timeline& line) noexcept;

  // Makes steps until the point is reached.
  void conduct(point until, on_failure then) noexcept;
  // Makes one of these steps.
  stepped step_for(point until) noexcept;

  // What steps have passed on to threads of their own.
  [[nodiscard]] passed_on& left_to_others() noexcept { return passed_on_; }

 private:
  stepped step() noexcept;                     // one operation of any timeline
  stepped step_towards(point until) noexcept;  // one that stands between now and the point
  stepped run_one(timeline& line) noexcept;
  struct walk {
    std::size_t at = 0;
    std::size_t looks = 0;  // that are left
    bool has_begun = false;
  };
  [[nodiscard]] timeline* next_to_run(walk& around) noexcept;
  void note_activity(std::atomic<std::uint64_t>& of) noexcept;
  [[nodiscard]] bool has_active() noexcept;
  void make_patient_steps() noexcept;

  const schedule schedule_;
  std::mutex stepping_;     // one step at a time; what a step submits finds it taken
  std::mt19937_64 random_;  // guarded by stepping_

  spin_lock active_lock_;
  std::vector<timeline*> active_;  // those that may have something to run; only a step takes one out

  passed_on passed_on_;
  std::atomic<std::uint64_t> submissions_{0};  // so far; and of the steps made with them
  std::atomic<std::uint64_t> waits_{0};        // steps so far of threads that wait
  std::atomic<int> waiting_in_step_{0};        // of these threads; a step may take long: that is not silence
  std::atomic<bool> patient_waits_{false};     // the patient thread, for its turn
  std::atomic<pid_t> first_thread_{0};         // that was active
  std::atomic<bool> several_threads_{false};   // have been
  std::atomic<bool> patient_thread_started_{false};
};

}  // namespace weir::embedded::engine
