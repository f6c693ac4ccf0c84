// reactor/reactor.hpp - finds out that work of a device has ended, and tells those who wait for it.
#pragma once

#include "os/spin_lock.hpp"
#include "reactor/completion_queue.hpp"
#include "reactor/contention_detector.hpp"
#include "reactor/fault_monitor.hpp"
#include "reactor/poll_interval.hpp"
#include "reactor/sleep_predictor.hpp"
#include "reactor/spin_budget.hpp"
#include "reactor/timer_queue.hpp"
#include "reactor/waiter_list.hpp"

#include <weir/detail/completion_waiter.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace weir::detail {

// May the calling thread run the program's continuations? Those in poll() may; one that only waits
// may hold locks that they take; and the reactor's own may as long as nobody stands in for it.
enum class caller_kind : unsigned char { other, poller, reactor_thread };

// One for each device. Whoever drives it asks the lanes that somebody waits in; threads that block
// drive it themselves for as long as it pays to spin, and then leave it to the reactor's thread,
// which sleeps while nobody needs it. Lanes of the embedded driver need nobody: the engine's
// threads settle them.
//
// It lives for ever. Thread safety: all members, from any thread.
class reactor {
 public:
  // Of a device of the driver in use. Throws std::bad_alloc.
  [[nodiscard]] static reactor& for_device(int device);
  // The same, of one that there is.
  [[nodiscard]] static reactor& existing_for_device(int device) noexcept;

  // Whose own thread the calling one is; null if it is the program's.
  [[nodiscard]] static reactor* current() noexcept;

  // May nobody else drive while the calling thread waits? So it is for a reactor's own thread, for
  // one that stands in for one, and at the end of the process.
  [[nodiscard]] static bool this_thread_must_drive() noexcept;
  static void run_once_for_this_thread() noexcept;

  // Begins the thread, if there is none. Throws std::system_error.
  void start_thread();

  // Does its thread ask, without a pause or between sleeps?
  [[nodiscard]] bool is_polling() const noexcept {
    return (!is_outside_reactor_.load() || asleep_.load() != 0) && demand_.load() > 0 &&
           !has_pollers();
  }

  // A lane has its first waiter.
  void add_queue(completion_queue& queue) noexcept;

  // Somebody waits for less than those did whom the thread has seen: it may sleep for as long as
  // suits them.
  void poll_sooner() noexcept { signal(); }

  // So many more or fewer need the thread: those who wait without a thread of their own, and
  // threads that sleep. For the latter it asks the driver also where somebody else drives, who may
  // be one of them.
  void adjust_demand(int change) noexcept;
  void adjust_sleeping_demand(int change) noexcept;

  // Tells them: now, but for those that only `caller_kind::poller` may tell, which are left to the
  // thread.
  void deliver(waiter_list& due, caller_kind caller) noexcept;

  // Asks every lane once, and tells who waited, also those that were left over. How many?
  std::size_t run_once(caller_kind caller) noexcept;

  // While there is any of these somebody else drives it, and the thread sleeps. The calling thread
  // stands in for it then, as does one that polls meanwhile.
  void add_poller() noexcept;
  void remove_poller() noexcept;
  std::size_t poll() noexcept;
  [[nodiscard]] bool has_pollers() const noexcept { return pollers_.load() > 0; }

  void add_timer(wait_timer& timer, long long deadline);  // throws std::bad_alloc
  bool remove_timer(wait_timer& timer) noexcept { return timers_.remove(timer); }

  // The device has failed: every lane is asked.
  static void on_device_failed() noexcept;

  // Does anybody wait, with or without a thread?
  [[nodiscard]] bool is_idle() const noexcept;

  spin_budget budget;
  completion_queue* spare_queues = nullptr;  // completion_queue_pool.cpp's, under its lock

 private:
  explicit reactor(int device) noexcept : device_{device} {}
  void signal() noexcept;
  void append(completion_queue& queue) noexcept;
  [[nodiscard]] bool notify(completion_waiter& waiter, caller_kind caller) noexcept;
  void defer_to_thread(waiter_list& deferred) noexcept;
  std::size_t poll_queues(caller_kind caller) noexcept;
  std::size_t notify_due(caller_kind caller) noexcept;
  std::size_t fire_timers() noexcept;
  static void stop_all() noexcept;
  [[nodiscard]] bool is_stopped_on_this_thread() const noexcept;
  void run() noexcept;
  [[nodiscard]] bool update_contention(long long now) noexcept;
  [[nodiscard]] long long next_sleep(long long since, long long now) noexcept;
  static void on_fault(void* self) noexcept;
  void wait_for_work(long long since, std::uint32_t seen) noexcept;

  const int device_;
  std::atomic<completion_queue*> new_queues_{nullptr};  // a stack

  alignas(64) spin_lock poll_lock_;  // held while a lane is asked, never while anybody is told
  poll_interval poll_interval_;      // the thread's, as the next
  contention_detector contention_;
  std::uint64_t activity_epoch_ = 0;
  sleep_predictor sleep_predictor_;
  int long_sleeps_ = 0;
  completion_queue* first_ =
      nullptr;  // those that somebody waits in; whoever was asked goes to the end
  completion_queue* last_ = nullptr;
  std::size_t queue_count_ = 0;
  std::atomic<long long> last_poll_count_{0};

  // What all who await change has a line of its own: the thread looks at the rest without a pause.
  alignas(64) std::atomic<int> demand_{0};

  alignas(64) spin_lock due_lock_;
  waiter_list due_;
  std::atomic<bool> any_due_{false};

  timer_queue timers_;

  fault_monitor fault_monitor_{{&reactor::on_fault, this}};
  std::atomic<long long> fault_alert_until_{0};

  std::atomic<int> sleepers_{0};
  std::atomic<int> pollers_{0};
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<std::uint32_t> asleep_{0};
  std::atomic<bool> started_{false};
  std::atomic<bool> stopped_{false};            // the thread drives no more
  std::atomic<bool> is_outside_reactor_{true};  // the thread is in the program's code, or sleeps
  std::mutex start_lock_;
};

}  // namespace weir::detail
