// engine/scheduler.hpp - the driver's threads, and which timeline they run next.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "embedded/engine/joint_work.hpp"
#include "embedded/engine/ready_list.hpp"
#include "embedded/engine/schedule.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/wake_up.hpp"

namespace weir::embedded::engine {

class conductor;

// Workers run what is listed; one more thread runs all host functions, as on a GPU. Threads are started when there is
// first something for them to do, and sleep when there is nothing. One scheduler a process, never destroyed.
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
  void submitted(timeline& line) noexcept;  // stepping: there is something to run
  void conduct(point until) noexcept;       // stepping: makes steps until the point is reached

  // Takes a timeline that is marked as listed, and sees to it that a worker is awake.
  void list(timeline& line) noexcept;

  // Lets workers with nothing else to do take part in an operation that the calling thread runs; and ends that, when those
  // who came have done their share. Only where the schedule is parallel.
  void offer(joint_work& work) noexcept;
  void withdraw(joint_work& work) noexcept { joint_.remove(work); }
  [[nodiscard]] bool has_other_work() const noexcept { return !ready_.empty(); }

  // Takes a parked timeline whose next operation is a host function.
  void give_to_host_thread(timeline& line) noexcept;

 private:
  class hot_timelines;

  scheduler();
  void work() noexcept;
  void run_host_functions() noexcept;
  timeline* run_chain(timeline& first) noexcept;
  timeline* take(hot_timelines& hot) noexcept;
  bool take_part(hot_timelines& hot) noexcept;
  void sleep() noexcept;
  void call_a_worker() noexcept;
  void call_the_host_thread() noexcept;

  schedule schedule_;
  unsigned most_workers_;
  std::uint32_t slice_;                   // operations of one timeline before the next has its turn
  std::unique_ptr<conductor> conductor_;  // null unless stepping

  alignas(64) ready_list ready_;
  wake_up workers_;
  joint_work_list joint_;

  alignas(64) host_list host_ready_;
  wake_up host_thread_;
};

}  // namespace weir::embedded::engine
