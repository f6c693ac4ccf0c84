// SPDX-License-Identifier: Apache-2.0
// embedded/engine/scheduler.cpp - workers, the watchdog, and the thread of the host functions.
#include "embedded/engine/scheduler.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "embedded/engine/deterministic_scheduler.hpp"
#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/idle_spin.hpp"
#include "embedded/engine/run_next_slot.hpp"
#include "os/futex.hpp"

namespace weir::embedded::engine {

namespace {

using namespace std::chrono_literals;

#if defined(__SANITIZE_THREAD__)
constexpr unsigned max_useful_workers =
    4;  // TSan counts each fiber as a thread, and supports 8128 of them
#else
constexpr unsigned max_useful_workers = 16;
#endif

// How long all workers must be busy without finding new work before they count as blocked. Under
// the serial schedule, whose order should not depend on time, the limit is longer.
constexpr auto stall_timeout = 4ms;
constexpr auto serial_stall_timeout = 30ms;

}  // namespace

// The timelines that a worker ran last, still marked as queued. A spinning worker checks them
// itself, so submitters need not queue them again. Limited to a few, because a spinning worker
// checks each of them about once per microsecond.
class scheduler::recent_timelines {
 public:
  // Keeps a drained timeline, one without operations left, in place of the oldest one. Does nothing
  // if the timeline is queued, owned or parked (timeline.hpp).
  void add(timeline& line, scheduler& owner) noexcept {
    if (!line.mark_queued()) return;
    slot& oldest = slots_[oldest_++ % slots_.size()];
    release(oldest, owner);
    oldest = {&line, line.completed(), 0};
  }

  // Returns a timeline with work, owned by the caller; null if there is none. New work is left
  // alone for 12 calls: a thread that waits for it runs it faster, because the work is in that
  // thread's cache.
  [[nodiscard]] timeline* own_runnable() noexcept {
    for (slot& p : slots_) {
      if (p.line == nullptr || p.line->drained()) continue;
      const std::uint64_t completed = p.line->completed();
      if (std::exchange(p.completed, completed) != completed) p.polls = 0;
      if (++p.polls < polls_before_taking || !p.line->try_own()) continue;
      p.line->clear_queued();
      return std::exchange(p.line, nullptr);
    }
    return nullptr;
  }

  // Releases all timelines, and queues timelines with work for other workers.
  void release_all(scheduler& owner) noexcept {
    for (slot& p : slots_) release(p, owner);
  }

 private:
  static constexpr int polls_before_taking = 12;  // some 12 us

  struct slot {
    timeline* line = nullptr;
    std::uint64_t completed = 0;  // at the last check
    int polls = 0;                // checks since then with work but without progress
  };

  static void release(slot& released, scheduler& owner) noexcept {
    if (timeline* line = std::exchange(released.line, nullptr);
        line != nullptr && line->unmark_queued())
      owner.enqueue(*line);
  }

  std::array<slot, 4> slots_{};
  unsigned oldest_ = 0;
};

scheduler::scheduler()
    : max_workers_{std::clamp(std::thread::hardware_concurrency(), 1u, max_useful_workers)},
      operations_per_turn_{256} {}

scheduler& scheduler::instance() noexcept {
  static auto* const instance = new scheduler;
  return *instance;
}

void scheduler::configure(schedule config) {
  schedule_ = config;
  if (config.kind == schedule_kind::parallel) return;
  operations_per_turn_ = 1;
  if (config.kind == schedule_kind::serial) {
    max_workers_ = 1;
  } else {
    deterministic_ = std::make_unique<deterministic_scheduler>(config);
  }
}

void scheduler::enqueue(timeline& line) noexcept {
  ready_.push(line);
  wake_or_start_worker();
}

// Ensures that a worker looks at the ready list. Call after an addition to it.
void scheduler::wake_or_start_worker() noexcept {
  switch (workers_.on_added(max_workers_ + spare_workers_.size())) {
    case worker_parking::action::none: return;
    case worker_parking::action::wake: workers_.wake(); return;
    case worker_parking::action::start: start_worker(); return;
    case worker_parking::action::busy: start_watchdog(); return;
  }
}

// Starts a worker. If the system has no thread available for a spare worker, starts the watchdog,
// which tries again later. Without spare workers, the worker is required: a failure then ends the
// program (driver_thread.hpp).
void scheduler::start_worker() noexcept {
  const thread_requirement requirement =
      spare_workers_.size() == 0 ? thread_requirement::required : thread_requirement::optional;
  if (start_driver_thread(
          "weir-worker", [this] { worker_main(); }, requirement))
    return;
  workers_.on_start_failed();
  start_watchdog();  // tries again later
}

// Starts or wakes the watchdog. Called if all workers are busy, or if no worker could be started,
// and there is more work. After stall_timeout or serial_stall_timeout, the watchdog checks whether
// the workers are blocked.
void scheduler::start_watchdog() noexcept {
  if (watching_.load() != 0 || watching_.exchange(1) != 0) return;
  if (watchdog_started_.exchange(true)) {
    os::futex_wake(watching_, 1);
  } else {
    start_driver_thread("weir-watch", [this] { watchdog_main(); });
  }
}

// Adds a spare worker whenever all workers have been busy for a whole period without finding new
// work, although the ready list contains some.
void scheduler::watchdog_main() noexcept {
  const auto period =
      schedule_.kind == schedule_kind::serial ? serial_stall_timeout : stall_timeout;
  for (;;) {
    while (watching_.load() == 0) os::futex_wait(watching_, 0);
    std::uint64_t found_count = workers_.found_count();
    do {
      std::this_thread::sleep_for(period);
      const bool is_stalled =
          std::exchange(found_count, workers_.found_count()) == found_count && workers_.all_busy();
      if (!is_stalled || ready_.empty()) continue;
      spare_workers_.add_one();
      wake_or_start_worker();
    } while (!ready_.empty());
    watching_.store(0);
    if (!ready_.empty()) watching_.store(1);  // added since the check
  }
}

// Returns a timeline that the calling worker now owns and has to run. The worker then counts as
// busy. Returns null if there is no such timeline; the worker then still counts as searching.
timeline* scheduler::take_runnable_timeline(recent_timelines& recent) noexcept {
  timeline* line = recent.own_runnable();
  while (line == nullptr) {
    line = ready_.pop();
    if (line == nullptr) return nullptr;
    line->clear_queued();
    if (!line->try_own()) line = nullptr;  // run by another thread, or parked
  }
  workers_.on_found();
  if (!ready_.empty()) wake_or_start_worker();
  return line;
}

// Sleeps until another thread wakes this worker. Work may have been added since this worker last
// looked for some. This worker then wakes or starts a worker before it sleeps. It may itself be the
// worker that is woken; its sleep then ends at once.
void scheduler::sleep_until_woken() noexcept {
  workers_.prepare_sleep();
  if (!ready_.empty() || parallel_tasks_.has_open()) wake_or_start_worker();
  workers_.sleep();
}

void scheduler::publish(parallel_task& work) noexcept {
  parallel_tasks_.add(work);
  wake_or_start_worker();
}

// Takes part in an operation of another thread and returns true. Wakes or starts a further worker
// first. Returns false if no thread has published an operation in which workers can take part.
bool scheduler::join_parallel_task(recent_timelines& recent) noexcept {
  parallel_task* const work = parallel_tasks_.enter();
  if (work == nullptr) return false;
  workers_.on_found();
  recent.release_all(*this);
  wake_or_start_worker();
  work->participate();
  parallel_task_list::leave(*work);
  return true;
}

// Runs a timeline, then the timeline whose wait the first one has ended, and so on. Returns the
// last timeline of this chain if it is drained, else null.
timeline* scheduler::run_chain(timeline& first) noexcept {
  constexpr int max_chain = 64;  // then the worker takes another ready timeline
  run_next_slot& next = run_next_slot::of_this_thread();
  timeline* line = &first;
  for (int links = 0;; ++links) {
    if (links == max_chain) next.accept_none();
    const stop_reason reason =
        line->run(runner_kind::worker, line->completed() + operations_per_turn_);
    timeline* const next_line = next.take_timeline();
    if (next_line == nullptr || !next_line->try_own()) {
      if (next_line != nullptr) next_line->make_ready();
      return reason == stop_reason::drained ? line : nullptr;
    }
    line = next_line;
  }
}

// Runs timelines and parallel tasks until a spare worker replaces this one.
void scheduler::worker_main() noexcept {
  recent_timelines recent;
  idle_spin idle;
  for (;;) {
    const std::uint32_t generation = spare_workers_.generation();
    timeline* drained = nullptr;
    if (timeline* line = take_runnable_timeline(recent)) {
      recent.release_all(*this);
      if (schedule_.kind == schedule_kind::parallel) run_next_slot::of_this_thread().accept_any();
      drained = run_chain(*line);
    } else if (!join_parallel_task(recent)) {
      if (!idle.spin_once()) {
        recent.release_all(*this);
        sleep_until_woken();
        idle.reset();
      }
      continue;
    }
    if (spare_workers_.try_retire(generation)) {
      workers_.on_exit();
      return;
    }
    workers_.on_finished();
    if (drained != nullptr) recent.add(*drained, *this);
    idle.reset();
  }
}

void scheduler::offload(timeline& line, offload_target target) noexcept {
  offload_threads& group = offload_threads_[static_cast<std::size_t>(target)];
  group.queue.push(line);
  wake_or_start_thread(group);
}

void scheduler::wake_or_start_thread(offload_threads& group) noexcept {
  const worker_parking::action next = group.parking.on_added(group.max_threads);
  if (next == worker_parking::action::wake) {
    group.parking.wake();
  } else if (next == worker_parking::action::start) {
    start_driver_thread(group.name, [&group] { instance().run_offloaded(group); });
  }
}

// The loop of a thread of an offload_threads group: takes a timeline from the group's queue and
// runs it, or sleeps until one is added.
void scheduler::run_offloaded(offload_threads& group) noexcept {
  idle_spin idle;
  for (;;) {
    if (timeline* line = group.queue.pop()) {
      group.parking.on_found();
      if (!group.queue.empty()) wake_or_start_thread(group);
      line->own_parked();
      auto step = offloaded_operation::no_step;
      if (deterministic_) step = deterministic_->offloaded().on_start(*line, group.target);
      line->run(group.role, line->completed() + operations_per_turn_);
      if (deterministic_) deterministic_->offloaded().on_finish(step, group.target);
      group.parking.on_finished();
      idle.reset();
    } else if (!idle.spin_once()) {
      group.parking.prepare_sleep();
      if (!group.queue.empty()) wake_or_start_thread(group);
      group.parking.sleep();
      idle.reset();
    }
  }
}

}  // namespace weir::embedded::engine
