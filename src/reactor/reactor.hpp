// reactor/reactor.hpp - finds out that work of a device has ended, and tells those who wait for it.
#pragma once

#include "os/spin_lock.hpp"
#include "reactor/call_watch.hpp"
#include "reactor/fault_watch.hpp"
#include "reactor/lane.hpp"
#include "reactor/question_pace.hpp"
#include "reactor/sleep_lengths.hpp"
#include "reactor/spin_budget.hpp"
#include "reactor/timer_queue.hpp"
#include "reactor/waiter_list.hpp"

#include <weir/detail/completion_waiter.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace weir::detail {

// May the calling thread run the program's continuations? Those in poll() may; one that only waits may hold locks that they
// take; and the reactor's own may as long as nobody stands in for it.
enum class callers : unsigned char { any, own, thread };

// One for each device. Whoever drives it asks the lanes that somebody waits in; threads that block drive it themselves for
// as long as it pays to spin, and then leave it to the reactor's thread, which sleeps while nobody needs it. Lanes of the
// embedded driver need nobody: the engine's threads settle them.
//
// It lives for ever. Thread safety: all members, from any thread.
class reactor {
 public:
  // Of a device of the driver in use. Throws std::bad_alloc.
  [[nodiscard]] static reactor& of(int device);
  // The same, of one that there is.
  [[nodiscard]] static reactor& of_noted(int device) noexcept;

  // Whose own thread the calling one is; null if it is the program's.
  [[nodiscard]] static reactor* of_own_thread() noexcept;

  // May nobody else drive while the calling thread waits? So it is for a reactor's own thread, for one that stands in for
  // one, and at the end of the process.
  [[nodiscard]] static bool is_left_to_this_thread() noexcept;
  static void drive_those_left_to_this_thread() noexcept;

  // Begins the thread, if there is none. Throws std::system_error.
  void start_thread();

  // Does its thread ask, without a pause or between sleeps?
  [[nodiscard]] bool is_asking() const noexcept {
    return (!outside_.load() || asleep_.load() != 0) && needs_.load() > 0 && !is_driven();
  }

  // A lane has its first waiter.
  void arrive(lane& one) noexcept;

  // Somebody waits for less than those did whom the thread has seen: it may sleep for as long as suits them.
  void look_sooner() noexcept { signal(); }

  // So many more or fewer need the thread: those who wait without a thread of their own, and threads that sleep. For the
  // latter it asks the driver also where somebody else drives, who may be one of them.
  void need(int change) noexcept;
  void need_asleep(int change) noexcept;

  // Tells them: now, but for those that only `callers::own` may tell, which are left to the thread.
  void deliver(waiter_list& due, callers who) noexcept;

  // Asks every lane once, and tells who waited, also those that were left over. How many?
  std::size_t drive(callers who) noexcept;

  // While there is any of these somebody else drives it, and the thread sleeps. The calling thread stands in for it then, as
  // does one that polls meanwhile.
  void begin_driving() noexcept;
  void end_driving() noexcept;
  std::size_t poll() noexcept;
  [[nodiscard]] bool is_driven() const noexcept { return drivers_.load() > 0; }

  void add_timer(wait_timer& timer, long long deadline);  // throws std::bad_alloc
  bool remove_timer(wait_timer& timer) noexcept { return timers_.remove(timer); }

  // The device has failed: every lane is asked.
  static void device_failed() noexcept;

  // Does anybody wait, with or without a thread?
  [[nodiscard]] bool is_idle() const noexcept;

  spin_budget budget;
  lane* spare_lanes = nullptr;  // lane_pool.cpp's, under its lock

 private:
  explicit reactor(int device) noexcept : device_{device} {}
  void signal() noexcept;
  void append(lane& one) noexcept;
  [[nodiscard]] bool tell(completion_waiter& who, callers caller) noexcept;
  void leave(waiter_list& left) noexcept;
  std::size_t pass(callers who) noexcept;
  std::size_t tell_due(callers who) noexcept;
  std::size_t tell_expired() noexcept;
  static void stop_all() noexcept;
  [[nodiscard]] bool is_over_for_this_thread() const noexcept;
  void run() noexcept;
  [[nodiscard]] bool watch_calls(long long now) noexcept;
  [[nodiscard]] long long next_sleep(long long since, long long now) noexcept;
  static void be_alarmed(void* self) noexcept;
  void wait_for_more(long long since, std::uint32_t seen) noexcept;

  const int device_;
  std::atomic<lane*> arrivals_{nullptr};  // a stack

  alignas(64) spin_lock driving_;  // held while a lane is asked, never while anybody is told
  question_pace pace_;             // the thread's, as the next
  call_watch calls_;
  std::uint64_t round_of_calls_ = 0;
  sleep_lengths sleeps_;
  int long_sleeps_ = 0;
  lane* first_ = nullptr;  // those that somebody waits in; whoever was asked goes to the end
  lane* last_ = nullptr;
  std::size_t lanes_ = 0;
  std::atomic<long long> asked_at_once_{0};

  // What all who await change has a line of its own: the thread looks at the rest without a pause.
  alignas(64) std::atomic<int> needs_{0};

  alignas(64) spin_lock due_lock_;
  waiter_list due_;
  std::atomic<bool> any_due_{false};

  timer_queue timers_;

  fault_watch faults_{{&reactor::be_alarmed, this}};
  std::atomic<long long> alarmed_until_{0};

  std::atomic<int> sleepers_{0};
  std::atomic<int> drivers_{0};
  std::atomic<std::uint32_t> signals_{0};
  std::atomic<std::uint32_t> asleep_{0};
  std::atomic<bool> started_{false};
  std::atomic<bool> ended_{false};   // the thread drives no more
  std::atomic<bool> outside_{true};  // the thread is in the program's code, or sleeps
  std::mutex starting_;
};

}  // namespace weir::detail
