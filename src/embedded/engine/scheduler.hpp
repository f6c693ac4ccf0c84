// engine/scheduler.hpp - the driver's threads, and which timeline they run next.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "embedded/engine/joint_work.hpp"
#include "embedded/engine/passed_on.hpp"
#include "embedded/engine/ready_list.hpp"
#include "embedded/engine/reserve.hpp"
#include "embedded/engine/schedule.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/wake_up.hpp"

namespace weir::embedded::engine {

class conductor;

// Workers run what is listed; one more thread runs all host functions, as on a GPU. Threads are started when there is
// first something for them to do, and sleep when there is nothing. Where all workers are held up, by kernels that spin until
// others have done something, there are more of them. One scheduler a process, never destroyed.
//
// Thread safety: all members, from any thread; configure() before the first operation.
class scheduler {
 public:
  static scheduler& instance() noexcept;

  void configure(schedule how);
  [[nodiscard]] schedule how() const noexcept { return schedule_; }
  [[nodiscard]] schedule_kind kind() const noexcept { return schedule_.kind; }
  [[nodiscard]] unsigned most_workers() const noexcept { return most_workers_; }

  // Do deterministic steps take the place of workers (schedule_kind::random and late)?
  [[nodiscard]] bool stepping() const noexcept { return conductor_ != nullptr; }
  void submitted(timeline& line) noexcept;              // stepping: there is something to run
  void conduct(point until, on_failure then) noexcept;  // stepping: makes steps until the point is reached
  stepped step_for(point until) noexcept;               // stepping: makes one of these steps

  // Takes a timeline that is marked as listed, and sees to it that a worker is awake.
  void list(timeline& line) noexcept;

  // Lets workers with nothing else to do take part in an operation that the calling thread runs; and ends that, when those
  // who came have done their share. Only where the schedule is parallel.
  void offer(joint_work& work) noexcept;
  void withdraw(joint_work& work) noexcept { joint_.remove(work); }
  [[nodiscard]] bool has_other_work() const noexcept { return !ready_.empty(); }

  // Takes a parked timeline whose next operation is a host function.
  void give_to_host_thread(timeline& line) noexcept;

  // Stepping: takes a parked timeline whose next operation may take long, or for ever.
  void give_to_long_thread(timeline& line) noexcept;

 private:
  class hot_timelines;

  // Threads that are given timelines of which they run the next operation.
  struct receivers {
    const char* name;
    runner as;
    elsewhere where;
    unsigned most;
    host_list lines;
    wake_up threads;
  };

  scheduler();
  void work() noexcept;
  timeline* run_chain(timeline& first) noexcept;
  timeline* take(hot_timelines& hot) noexcept;
  bool take_part(hot_timelines& hot) noexcept;
  void sleep() noexcept;
  void call_a_worker() noexcept;
  void start_worker() noexcept;
  void watch_workers() noexcept;
  void keep_watching() noexcept;
  void give(timeline& line, receivers& to) noexcept;
  void call(receivers& one) noexcept;
  void run_given(receivers& as) noexcept;

  schedule schedule_;
  unsigned most_workers_;
  std::uint32_t slice_;                   // operations of one timeline before the next has its turn
  std::unique_ptr<conductor> conductor_;  // null unless stepping

  alignas(64) ready_list ready_;
  wake_up workers_;
  reserve reserve_;
  std::atomic<std::uint32_t> watched_{0};  // 1: a thread looks whether workers are held up
  std::atomic<bool> watch_started_{false};
  joint_work_list joint_;

  alignas(64) receivers host_thread_{"weir-host", runner::host_thread, elsewhere::host_thread, 1, {}, {}};
  alignas(64) receivers long_threads_{"weir-step", runner::worker, elsewhere::long_threads, reserve::most, {}, {}};
};

}  // namespace weir::embedded::engine
