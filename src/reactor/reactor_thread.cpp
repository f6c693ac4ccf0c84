// reactor/reactor_thread.cpp - the thread that drives a reactor where nobody else does.
#include "reactor/reactor.hpp"

#include "os/at_exit.hpp"
#include "driver/call_rounds.hpp"
#include "os/forked_child.hpp"
#include "os/futex.hpp"
#include "os/signals_blocked.hpp"
#include "driver/table.hpp"
#include "reactor/announced_calls.hpp"
#include "os/clock.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

namespace weir::detail {
namespace {

constexpr long long microsecond = 1'000;
// Where nobody needs it, but somebody may soon.
constexpr long long awake_without_need = 50 * microsecond;
// To begin a watch for faults takes 10 to 20 ms of a processor.
constexpr int sleeps_until_watched = 500;
// After an alarm: a driver may take its time until it has to say something about the fault.
constexpr long long alarmed_for = 2'000'000 * microsecond;
// What the kernel may add to a sleep; 50 us by default, more than most sleeps here.
constexpr unsigned long slack_nanoseconds = 1'000;

constinit thread_local reactor* own_thread = nullptr;

}  // namespace

reactor* reactor::of_own_thread() noexcept { return own_thread; }

void reactor::start_thread() {
  if (started_.load(std::memory_order_acquire)) return;
  const std::lock_guard hold{starting_};
  if (started_.load(std::memory_order_relaxed) || in_forked_child()) return;
  static_cast<void>(driver());  // there may be none yet
  const signals_blocked none_here;
  std::thread{[this] { run(); }}.detach();
  started_.store(true, std::memory_order_release);
  static const bool left = [] {
    call_at_exit([] { reactor::stop_all(); });
    return true;
  }();
  static_cast<void>(left);
}

void reactor::run() noexcept {
  own_thread = this;
  pthread_setname_np(pthread_self(), "weir-reactor");
  prctl(PR_SET_TIMERSLACK, slack_nanoseconds);
  // Its questions harm no capture; but a driver holds that they might.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  static_cast<void>(table_in_use.load(std::memory_order_acquire)->cuThreadExchangeStreamCaptureMode(&mode));
  long long since = steady_nanoseconds();
  while (!ended_.load()) {
    const std::uint32_t seen = signals_.load();
    if (outside_.load(std::memory_order_relaxed)) outside_.store(false);  // it is looked at by all who await
    if (ended_.load()) break;
    const bool stands_back = is_driven();
    const std::size_t due = stands_back ? 0 : tell_due(callers::thread);
    std::size_t told = 0;
    if (needs_.load() > 0 && !stands_back) told = pass(callers::thread);
    if (stands_back && sleepers_.load() > 0) told = pass(callers::any);
    const std::size_t expired = tell_expired();
    if (due + told + expired != 0) {
      const long long now = steady_nanoseconds();
      if (told != 0) {
        budget.learn(now - since);
        sleeps_.learn(now - since);
      } else if (expired != 0) {
        budget.learn_vain(now - since);
      }
      calls_.told(now);
      static_cast<void>(pace_.see(or_announced(calls_.seen())));
      if (due + told != 0 || signals_.load() != seen) since = now;
      if (!pace_.others_call()) continue;  // else nothing is asked that need not be
    }
    wait_for_more(since, seen);
    if (signals_.load() != seen) since = steady_nanoseconds();
  }
  outside_.store(true);
}

// True if that is other than it was.
bool reactor::watch_calls(long long now) noexcept {
  if (calls_.look(called_since(round_of_calls_), now)) round_of_calls_ = begin_round_of_calls();
  return pace_.see(or_announced(calls_.seen()));
}

// For so long to sleep, while somebody waits since then. Faults are looked for until it is known that they are told of: that
// is begun once looks have cost as much.
long long reactor::next_sleep(long long since, long long now) noexcept {
  const bool are_told = faults_.is_on() && now >= alarmed_until_.load(std::memory_order_relaxed);
  const long long length = sleeps_.next(now - since, are_told);
  if (length >= sleep_lengths::longest_blind) {
    long_sleeps_ = std::min(long_sleeps_ + 1, sleeps_until_watched);
    if (long_sleeps_ == sleeps_until_watched) faults_.want(device_);
  }
  return length;
}

void reactor::be_alarmed(void* self) noexcept {
  auto& me = *static_cast<reactor*>(self);
  me.alarmed_until_.store(steady_nanoseconds() + alarmed_for, std::memory_order_relaxed);
  me.signal();
}

// Spins for as long as that pays, and asks the less often the longer it takes; then sleeps between questions; where nobody needs
// it, until somebody does.
void reactor::wait_for_more(long long since, std::uint32_t seen) noexcept {
  const long long now = steady_nanoseconds();
  const bool stands_back = is_driven();
  const bool needed = stands_back ? sleepers_.load() > 0 : needs_.load() > 0;
  if (now - since < (needed ? budget.nanoseconds() : std::min(budget.nanoseconds(), awake_without_need))) {
    const long long questions = asked_at_once_.load(std::memory_order_relaxed);
    long long rest = pace_.rest(now - since, questions);
    long long shortest = pace_.shortest_rest(questions);
    long long then = now;
    do {
      pause();
      then = steady_nanoseconds();
      if (needed && watch_calls(then)) {
        rest = pace_.rest(now - since, questions);
        shortest = pace_.shortest_rest(questions);
      }
    } while (then - now < rest && (stands_back || !any_due_.load(std::memory_order_relaxed)) &&
             then < timers_.earliest() && (then - now < shortest || signals_.load(std::memory_order_relaxed) == seen));
    return;
  }
  // Lanes whose waiters were all taken back are let go of.
  if (needs_.load() == 0 && !is_driven() && pass(callers::thread) != 0) return;
  const long long next = timers_.earliest();
  long long limit = timer_queue::never;
  if (needed) {
    limit = next_sleep(since, now);
  } else {
    faults_.let_be();
  }
  if (next != timer_queue::never) limit = std::min(limit, std::max(next - now, 0LL));
  if (limit == 0) return;
  asleep_.store(1);
  if (signals_.load() == seen) {
    outside_.store(true);
    if (limit == timer_queue::never) {
      futex_wait(signals_, seen);
    } else {
      futex_wait_for(signals_, seen, std::chrono::nanoseconds{limit});
    }
    outside_.store(false);
  }
  asleep_.store(0);
}

}  // namespace weir::detail
