// SPDX-License-Identifier: Apache-2.0
// reactor/reactor_thread.cpp - the thread that drives a reactor while no other thread does.
#include "reactor/reactor.hpp"

#include "driver/driver_activity.hpp"
#include "driver/relaxed_thread_mode.hpp"
#include "driver/table.hpp"
#include "os/at_exit.hpp"
#include "os/clock.hpp"
#include "os/forked_child.hpp"
#include "os/futex.hpp"
#include "os/signal_blocker.hpp"
#include "reactor/poll_policy.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace weir::detail {
namespace {

// The time by which the kernel may prolong a sleep. The default of 50 us is longer than most sleeps
// here.
constexpr unsigned long timer_slack_nanoseconds = 1'000;

constinit thread_local reactor* current_reactor = nullptr;

}  // namespace

reactor* reactor::current() noexcept { return current_reactor; }

void reactor::start_thread() {
  if (started_.load(std::memory_order_acquire)) return;
  const std::lock_guard hold{start_lock_};
  if (started_.load(std::memory_order_relaxed) || os::in_forked_child()) return;
  static_cast<void>(driver());  // chooses a driver if none is in use yet
  const os::signal_blocker block_signals;
  std::thread{[this] { run(); }}.detach();
  started_.store(true, std::memory_order_release);
  static const bool registered = [] {
    os::register_at_exit([] { reactor::stop_all(); });
    return true;
  }();
  static_cast<void>(registered);
}

void reactor::run() noexcept {
  current_reactor = this;
  pthread_setname_np(pthread_self(), "weir-reactor");
  prctl(PR_SET_TIMERSLACK, timer_slack_nanoseconds);
  // Without this mode, the driver would refuse queries of this thread while another thread
  // captures.
  relaxed_thread_mode{*table_in_use.load(std::memory_order_acquire)}.keep();
  long long since = os::steady_nanoseconds();
  while (!stopped_.load()) {
    const std::uint32_t seen = signals_.load();
    // Stored only if it changes, because all waiting threads read its cache line.
    if (is_outside_reactor_.load(std::memory_order_relaxed)) is_outside_reactor_.store(false);
    if (stopped_.load()) break;
    const bool has_other_poller = has_pollers();
    const std::size_t due = has_other_poller ? 0 : notify_due(caller_kind::reactor_thread);
    std::size_t notified = 0;
    if (demand_.load() > 0 && !has_other_poller)
      notified = poll_queues(caller_kind::reactor_thread);
    if (has_other_poller && sleepers_.load() > 0) notified = poll_queues(caller_kind::other);
    const std::size_t fired = fire_timers();
    if (due + notified + fired != 0) {
      const long long now = os::steady_nanoseconds();
      if (notified != 0) {
        budget.record_wait(now - since);
        sleep_predictor_.record_wait(now - since);
      } else if (fired != 0) {
        budget.record_timeout(now - since);
      }
      contention_.record_notification(now);
      static_cast<void>(poll_interval_.set_contention(with_external_callers(contention_.level())));
      if (due + notified != 0 || signals_.load() != seen) since = now;
      if (!poll_interval_.is_contended()) continue;  // under contention, waits before the next poll
    }
    wait_for_work(since, seen);
    if (signals_.load() != seen) since = os::steady_nanoseconds();
  }
  is_outside_reactor_.store(true);
}

// Updates the contention level. Returns true if it changed.
bool reactor::update_contention(long long now) noexcept {
  if (contention_.update(called_since(activity_epoch_), now))
    activity_epoch_ = begin_activity_epoch();
  return poll_interval_.set_contention(with_external_callers(contention_.level()));
}

// Returns how long to sleep if a waiter has waited from `since` to `now`. Without fault reports
// sleeps stay short enough to find a fault by polling. The fault monitor is enabled once these
// wakeups have cost as much as the start of the monitor.
long long reactor::next_sleep(long long since, long long now) noexcept {
  const bool are_reported =
      fault_monitor_.is_on() && now >= fault_alert_until_.load(std::memory_order_relaxed);
  const long long length = sleep_predictor_.next_sleep(now - since, are_reported);
  if (length >= poll_policy::max_sleep_without_fault_reports) {
    long_sleeps_ = std::min(long_sleeps_ + 1, poll_policy::long_sleeps_before_watch);
    if (long_sleeps_ == poll_policy::long_sleeps_before_watch) fault_monitor_.enable(device_);
  }
  return length;
}

void reactor::on_fault(void* self) noexcept {
  auto& self_reactor = *static_cast<reactor*>(self);
  self_reactor.fault_alert_until_.store(
      os::steady_nanoseconds() + poll_policy::fault_alert_duration, std::memory_order_relaxed);
  self_reactor.signal();
}

// Waits until the next poll. `since`: the time of the first poll or the last signal. `seen`: the
// value of signals_ before the last poll. Spins until the spin budget is used up, with delays that
// grow with the time waited, and then sleeps between polls. Without demand it spins for 50 us
// at most, and then sleeps until a signal or a timer.
void reactor::wait_for_work(long long since, std::uint32_t seen) noexcept {
  const long long now = os::steady_nanoseconds();
  const bool has_other_poller = has_pollers();
  const bool needed = has_other_poller ? sleepers_.load() > 0 : demand_.load() > 0;
  if (now - since < (needed ? budget.nanoseconds()
                            : std::min(budget.nanoseconds(), poll_policy::idle_spin_time))) {
    const long long polls = last_poll_count_.load(std::memory_order_relaxed);
    long long delay = poll_interval_.delay(now - since, polls);
    long long min_delay = poll_interval_.min_delay(polls);
    long long later = now;
    do {
      os::pause();
      later = os::steady_nanoseconds();
      if (needed && update_contention(later)) {
        delay = poll_interval_.delay(now - since, polls);
        min_delay = poll_interval_.min_delay(polls);
      }
    } while (later - now < delay &&
             (has_other_poller || !any_due_.load(std::memory_order_relaxed)) &&
             later < timers_.earliest() &&
             (later - now < min_delay || signals_.load(std::memory_order_relaxed) == seen));
    return;
  }
  // Drops the queues whose waiters have all been cancelled.
  if (demand_.load() == 0 && !has_pollers() && poll_queues(caller_kind::reactor_thread) != 0)
    return;
  const long long next = timers_.earliest();
  long long limit = timer_queue::never;
  if (needed) {
    limit = next_sleep(since, now);
  } else {
    fault_monitor_.disable();
  }
  if (next != timer_queue::never) limit = std::min(limit, std::max(next - now, 0LL));
  if (limit == 0) return;
  asleep_.store(1);
  if (signals_.load() == seen) {
    is_outside_reactor_.store(true);
    if (limit == timer_queue::never) {
      os::futex_wait(signals_, seen);
    } else {
      os::futex_wait_for(signals_, seen, std::chrono::nanoseconds{limit});
    }
    is_outside_reactor_.store(false);
  }
  asleep_.store(0);
}

}  // namespace weir::detail
