// reactor/reactor_thread.cpp - the thread that drives a reactor where nobody else does.
#include "reactor/reactor.hpp"

#include "driver/driver_activity.hpp"
#include "driver/table.hpp"
#include "os/at_exit.hpp"
#include "os/clock.hpp"
#include "os/forked_child.hpp"
#include "os/futex.hpp"
#include "os/signal_blocker.hpp"
#include "reactor/external_callers.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace weir::detail {
namespace {

constexpr long long microsecond = 1'000;
// Where nobody needs it, but somebody may soon.
constexpr long long idle_spin_time = 50 * microsecond;
// To begin a watch for faults takes 10 to 20 ms of a processor.
constexpr int long_sleeps_before_watch = 500;
// After an alarm: a driver may take its time until it has to say something about the fault.
constexpr long long fault_alert_duration = 2'000'000 * microsecond;
// What the kernel may add to a sleep; 50 us by default, more than most sleeps here.
constexpr unsigned long timer_slack_nanoseconds = 1'000;

constinit thread_local reactor* current_reactor = nullptr;

}  // namespace

reactor* reactor::current() noexcept { return current_reactor; }

void reactor::start_thread() {
  if (started_.load(std::memory_order_acquire)) return;
  const std::lock_guard hold{start_lock_};
  if (started_.load(std::memory_order_relaxed) || in_forked_child()) return;
  static_cast<void>(driver());  // there may be none yet
  const signal_blocker block_signals;
  std::thread{[this] { run(); }}.detach();
  started_.store(true, std::memory_order_release);
  static const bool registered = [] {
    register_at_exit([] { reactor::stop_all(); });
    return true;
  }();
  static_cast<void>(registered);
}

void reactor::run() noexcept {
  current_reactor = this;
  pthread_setname_np(pthread_self(), "weir-reactor");
  prctl(PR_SET_TIMERSLACK, timer_slack_nanoseconds);
  // Its questions harm no capture; but a driver holds that they might.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  static_cast<void>(
      table_in_use.load(std::memory_order_acquire)->cuThreadExchangeStreamCaptureMode(&mode));
  long long since = steady_nanoseconds();
  while (!stopped_.load()) {
    const std::uint32_t seen = signals_.load();
    if (is_outside_reactor_.load(std::memory_order_relaxed))
      is_outside_reactor_.store(false);  // it is looked at by all who await
    if (stopped_.load()) break;
    const bool has_other_poller = has_pollers();
    const std::size_t due = has_other_poller ? 0 : notify_due(caller_kind::reactor_thread);
    std::size_t notified = 0;
    if (demand_.load() > 0 && !has_other_poller)
      notified = poll_queues(caller_kind::reactor_thread);
    if (has_other_poller && sleepers_.load() > 0) notified = poll_queues(caller_kind::other);
    const std::size_t fired = fire_timers();
    if (due + notified + fired != 0) {
      const long long now = steady_nanoseconds();
      if (notified != 0) {
        budget.record_wait(now - since);
        sleep_predictor_.record_wait(now - since);
      } else if (fired != 0) {
        budget.record_timeout(now - since);
      }
      contention_.record_notification(now);
      static_cast<void>(poll_interval_.set_contention(with_external_callers(contention_.level())));
      if (due + notified != 0 || signals_.load() != seen) since = now;
      if (!poll_interval_.is_contended()) continue;  // else nothing is asked that need not be
    }
    wait_for_work(since, seen);
    if (signals_.load() != seen) since = steady_nanoseconds();
  }
  is_outside_reactor_.store(true);
}

// True if that is other than it was.
bool reactor::update_contention(long long now) noexcept {
  if (contention_.update(called_since(activity_epoch_), now))
    activity_epoch_ = begin_activity_epoch();
  return poll_interval_.set_contention(with_external_callers(contention_.level()));
}

// For so long to sleep, while somebody waits since then. Faults are looked for until it is known
// that they are told of: that is begun once looks have cost as much.
long long reactor::next_sleep(long long since, long long now) noexcept {
  const bool are_reported =
      fault_monitor_.is_on() && now >= fault_alert_until_.load(std::memory_order_relaxed);
  const long long length = sleep_predictor_.next_sleep(now - since, are_reported);
  if (length >= sleep_predictor::max_without_fault_reports) {
    long_sleeps_ = std::min(long_sleeps_ + 1, long_sleeps_before_watch);
    if (long_sleeps_ == long_sleeps_before_watch) fault_monitor_.enable(device_);
  }
  return length;
}

void reactor::on_fault(void* self) noexcept {
  auto& self_reactor = *static_cast<reactor*>(self);
  self_reactor.fault_alert_until_.store(steady_nanoseconds() + fault_alert_duration,
                                        std::memory_order_relaxed);
  self_reactor.signal();
}

// Spins for as long as that pays, and asks the less often the longer it takes; then sleeps between
// questions; where nobody needs it, until somebody does.
void reactor::wait_for_work(long long since, std::uint32_t seen) noexcept {
  const long long now = steady_nanoseconds();
  const bool has_other_poller = has_pollers();
  const bool needed = has_other_poller ? sleepers_.load() > 0 : demand_.load() > 0;
  if (now - since <
      (needed ? budget.nanoseconds() : std::min(budget.nanoseconds(), idle_spin_time))) {
    const long long polls = last_poll_count_.load(std::memory_order_relaxed);
    long long delay = poll_interval_.delay(now - since, polls);
    long long min_delay = poll_interval_.min_delay(polls);
    long long later = now;
    do {
      pause();
      later = steady_nanoseconds();
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
  // Lanes whose waiters were all taken back are let go of.
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
      futex_wait(signals_, seen);
    } else {
      futex_wait_for(signals_, seen, std::chrono::nanoseconds{limit});
    }
    is_outside_reactor_.store(false);
  }
  asleep_.store(0);
}

}  // namespace weir::detail
