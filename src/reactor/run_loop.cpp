// reactor/run_loop.cpp - continuations that run on the thread that blocks for them.
#include "reactor/run_loop.hpp"

#include "os/futex.hpp"
#include "os/clock.hpp"
#include "reactor/reactor.hpp"
#include "reactor/sleeping_thread.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>

namespace weir::detail {
namespace {

constinit thread_local run_loop* innermost = nullptr;
constinit std::mutex pool_lock;
constinit run_loop* pool = nullptr;  // under the lock

}  // namespace

run_loop& run_loop::enter() {
  run_loop* entered = nullptr;
  {
    const std::lock_guard hold{pool_lock};
    if (pool != nullptr) {
      entered = pool;
      pool = entered->next_;
    }
  }
  if (entered == nullptr) entered = new run_loop;
  {
    const std::lock_guard hold{entered->lock_};
    entered->runs_ = true;
    entered->pooled_ = false;
    entered->reactors_ = {};
  }
  entered->finished_.store(false);
  entered->helped_count_ = 0;
  entered->outer_ = innermost;
  innermost = entered;
  return *entered;
}

// Who still waits has nobody to look after him but the reactor's thread, which is needed until the last of them is told.
// Mostly there is nobody, and the thread sleeps on.
void run_loop::leave() noexcept {
  innermost = outer_;
  note_pending(1);  // so that the loop stays ours until the end of this
  waiter_list left;
  {
    const std::lock_guard hold{lock_};
    if (pending_.load() > 1) {
      need(1);
      leaves_some_ = true;
    }
    runs_ = false;
    left = ready_;
    ready_ = {};
  }
  while (completion_waiter* const next = left.take()) {
    reactor& found_by = *next->found_by;
    next->loop = nullptr;
    waiter_list one;
    one.append(*next);
    found_by.deliver(one, callers::any);
  }
  note_pending(-1);
}

void run_loop::give_back_if_over() noexcept {
  {
    const std::lock_guard hold{lock_};
    if (runs_ || pooled_ || pending_.load() != 0) return;
    pooled_ = true;
    ++life_;
    if (leaves_some_) need(-1);
    leaves_some_ = false;
  }
  const std::lock_guard hold{pool_lock};
  next_ = pool;
  pool = this;
}

void run_loop::need(int change) noexcept {
  for (reactor* const one : reactors_) {
    if (one != nullptr) one->need(change);
  }
}

bool run_loop::drives(reactor& one) noexcept {
  for (reactor*& place : reactors_) {
    if (place == nullptr) place = &one;
    if (place == &one) return true;
  }
  return false;
}

void run_loop::join(completion_waiter& who, lane& where) noexcept {
  run_loop* const mine = innermost;
  if (mine == nullptr || !mine->drives(where.home())) return;
  who.loop = mine;
  who.loop_life = mine->life_;
  if (where.is_told()) mine->help(where);
}

bool run_loop::is_inside() noexcept { return innermost != nullptr; }

// Of so many lanes that not all of them find room others see to the rest: the engine's workers, or whoever makes its steps.
void run_loop::help(lane& where) noexcept {
  lane** const end = helped_.data() + helped_count_;
  if (std::find(helped_.data(), end, &where) != end) return;
  if (helped_count_ < helped_.size()) ++helped_count_;
  helped_[helped_count_ - 1] = &where;
}

// One of the lanes has the engine run something for it.
lane::help run_loop::help_next() noexcept {
  lane::help of_this_thread = lane::help::of_no_use;
  while (helped_count_ != 0 && of_this_thread == lane::help::of_no_use) {
    helped_turn_ = (helped_turn_ + 1) % helped_count_;
    of_this_thread = helped_[helped_turn_]->help_engine();
    if (of_this_thread == lane::help::of_no_use) helped_[helped_turn_] = helped_[--helped_count_];
  }
  return of_this_thread;
}

void run_loop::note_pending(int change) noexcept {
  if (pending_.fetch_add(change) + change == 0 && change < 0) give_back_if_over();
}

bool run_loop::post(completion_waiter& who, reactor& found_by) noexcept {
  run_loop& to = *who.loop;
  {
    const std::lock_guard hold{to.lock_};
    if (!to.runs_ || to.life_ != who.loop_life) return false;
    who.found_by = &found_by;
    to.ready_.append(who);
  }
  to.news_.fetch_add(1);
  if (to.asleep_.load() != 0) futex_wake(to.news_, 1);
  return true;
}

void run_loop::finish() noexcept {
  finished_.store(true);
  news_.fetch_add(1);
  if (asleep_.load() != 0) futex_wake(news_, 1);
}

completion_waiter* run_loop::take() noexcept {
  const std::lock_guard hold{lock_};
  return ready_.take();
}

void run_loop::run() noexcept {
  long long since = steady_nanoseconds();
  unsigned spins = 0;
  for (;;) {
    const std::uint32_t seen = news_.load();  // first: what is finished after this is news
    if (finished_.load()) break;
    if (completion_waiter* const next = take()) {
      const long long waited = steady_nanoseconds() - since;
      if (next->outcome != errc::not_ready) {
        budget_.learn(waited);
      } else {
        budget_.learn_vain(waited);
      }
      next->told(*next, next->outcome);
      since = steady_nanoseconds();
      continue;
    }
    for (reactor* const one : reactors_) {
      if (one != nullptr) static_cast<void>(one->drive(callers::any));
    }
    // It runs the program's code anyway; but others' only where nobody else would.
    const bool nobody_else_drives = reactor::is_left_to_this_thread();
    if (nobody_else_drives) reactor::drive_those_left_to_this_thread();
    const lane::help of_this_thread = help_next();
    if (news_.load() != seen) continue;
    const long long elapsed = steady_nanoseconds() - since;
    if (elapsed < budget_.nanoseconds()) {
      spin_on(spins, of_this_thread != lane::help::of_no_use, elapsed);
    } else if (nobody_else_drives || of_this_thread == lane::help::alone) {
      futex_wait_for(news_, seen, std::chrono::microseconds{20});
    } else {
      sleep(seen);
    }
  }
}

// The reactor's thread looks after those who wait, meanwhile.
void run_loop::sleep(std::uint32_t seen) noexcept {
  for (reactor* const one : reactors_) {
    if (one != nullptr) one->need_asleep(1);
  }
  {
    const sleeping_thread here{news_};
    asleep_.store(1);
    while (news_.load() == seen && !reactor::is_left_to_this_thread()) futex_wait(news_, seen);
    asleep_.store(0);
  }
  for (reactor* const one : reactors_) {
    if (one != nullptr) one->need_asleep(-1);
  }
}

}  // namespace weir::detail
