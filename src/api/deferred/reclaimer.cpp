// api/deferred/reclaimer.cpp - weir's own thread.
#include "api/deferred/reclaimer.hpp"

#include "api/capture/captures.hpp"
#include "api/deferred/chore_rounds.hpp"
#include "api/device/device_call.hpp"
#include "api/deferred/exit_wait.hpp"
#include "api/core/guard.hpp"
#include "api/core/never_destroyed.hpp"
#include "os/at_exit.hpp"
#include "os/forked_child.hpp"
#include "os/signals_blocked.hpp"

#include <weir/core/deferred.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace weir {
namespace detail {
namespace {

using std::chrono::microseconds;

// How often chores that cannot be done yet are asked again: at first soon, then less and less often.
constexpr microseconds shortest_pause{50};
constexpr microseconds longest_pause{5000};

// What weir's thread frees, and the events that it asks for, harm no capture; but a driver holds that they might, and
// captures that were begun past weir cannot be waited for.
void say_that_captures_are_safe() noexcept {
  const driver_table* const calls = driver_if_any();
  if (calls == nullptr) return;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  check_unraised(calls->cuThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode", {});
}

// Destroyed where exit() is called on weir's thread, by what a chore destroys, before any static: nothing more is done, and a
// static may join a thread that waits for it. Where the process is being ended already it is left to whoever does that.
class end_on_this_thread {
 public:
  end_on_this_thread(chore_rounds& what, const exit_wait& of_process) noexcept : of_{what}, exit_{of_process} {}
  end_on_this_thread(const end_on_this_thread&) = delete;
  end_on_this_thread& operator=(const end_on_this_thread&) = delete;
  ~end_on_this_thread() {
    if (in_forked_child()) return;
    {
      const std::lock_guard hold{of_.lock()};
      of_.end_all();
    }
    while (exit_.has_begun()) ::pause();
  }

 private:
  chore_rounds& of_;
  const exit_wait& exit_;
};

class reclaimer {
 public:
  // Chores come while statics are destroyed, and the thread looks at it until the process is gone.
  static reclaimer& instance() noexcept {
    static never_destroyed<reclaimer> the_one;
    return *the_one;
  }

  void leave(chore& what) noexcept {
    if (is_this_thread()) return rounds_.leave_within(what);
    const bool first = rounds_.leave(what);
    if (in_forked_child()) return;  // where it stays, as the thread stayed in the parent
    // Only the first of a burst pays for waking the thread; while there is none, each tries to start it.
    if (first || thread_.load(std::memory_order_relaxed) == std::thread::id{}) wake();
    // Statics that are destroyed after the drain at exit leave further ones: they get a drain of their own.
    if (exit_.wants_another()) have_exit_drain();
  }

  [[nodiscard]] std::size_t unfinished() const noexcept {
    return in_forked_child() || rounds_.has_ended() ? 0 : rounds_.unfinished();
  }

  // Waits until all that has been left so far, with what that leaves, is done but for what waits for a capture.
  void drain() noexcept {
    if (is_needless()) return;
    if (!start()) return;
    std::unique_lock lock{rounds_.lock()};
    const epoch mine = begin_round();
    rounds_.told().wait(lock, [&] { return rounds_.has_done(mine); });
  }

  // The same but for what waits for a device longer than exit has patience, for any reason.
  void drain_at_exit() noexcept {
    const bool for_own = exit_.begin();
    if (is_needless() || !start()) {
      if (!for_own) exit_.others_are_done({});
      return;
    }
    std::unique_lock lock{rounds_.lock()};
    epoch mine = begin_round();
    for (; has_given_up(); mine = begin_round()) {
      if (gives_up(*given_up_, mine)) return;
    }
    for (int at_one_call = 0;;) {
      const bool is_patient = exit_.has_patience();
      const bool only_devices = rounds_.has_run(mine);
      const std::uint64_t seen = rounds_.step();
      const auto begun = std::chrono::steady_clock::now();
      const auto is_over = [&] { return is_patient ? rounds_.has_done(mine) : rounds_.has_run(mine); };
      if (rounds_.told().wait_for(lock, exit_wait::patience, is_over)) {
        if (!for_own) exit_.others_are_done(std::chrono::steady_clock::now() - begun);
        return;
      }
      const bool gets_on = rounds_.is_in_program() || (!for_own && !rounds_.is_at_call(seen));
      if (!only_devices && gets_on && (for_own || exit_.has_time_for_others())) continue;
      if (!for_own) return leave_the_rest(lock, mine);
      at_one_call = rounds_.is_at_call(seen) ? at_one_call + 1 : 0;
      if (only_devices || at_one_call == exit_wait::enough_to_lose_patience) exit_.lose_patience();
      if (at_one_call < exit_wait::enough_to_give_up) continue;
      if (gives_up(seen, mine)) return;
      at_one_call = 0;
      mine = begin_round();
    }
  }

  [[nodiscard]] bool is_this_thread() const noexcept {
    return std::this_thread::get_id() == thread_.load(std::memory_order_relaxed);
  }

  // What is left with std::atexit() now comes before all statics, if this is exit(). Where it was called on weir's thread before
  // that thread goes on to destroy them, and nobody else may.
  void exit_may_have_begun() noexcept {
    while (rounds_.has_ended()) ::pause();
    exit_.may_have_begun();
    call_at_exit([] { instance().exit_.has_begun_now(); });
  }

  [[nodiscard]] bool may_wait_for_device() const noexcept { return !is_this_thread() || exit_.has_patience(); }

 private:
  using epoch = chore_rounds::epoch;

  [[nodiscard]] bool is_needless() const noexcept { return in_forked_child() || is_this_thread() || unfinished() == 0; }

  // On the thread that ends the process, as the next two. What it waits for no more must not end objects of the program's
  // later, beside destructors of statics that those may use.
  void leave_the_rest(std::unique_lock<std::mutex>& lock, epoch mine) noexcept {
    if (!rounds_.has_run(mine)) rounds_.hold_program(mine);
    while (!rounds_.has_run(mine) && rounds_.is_in_program())
      rounds_.told().wait_for(lock, std::chrono::milliseconds{1});
  }
  bool gives_up(std::uint64_t step, epoch mine) noexcept {
    if (!rounds_.hold_program_at(step, mine)) return false;
    given_up_ = step;
    driver_is_held_up = true;
    return true;
  }
  // Has weir's thread come no further since?
  [[nodiscard]] bool has_given_up() noexcept {
    if (!given_up_) return false;
    if (rounds_.step() == *given_up_) return true;
    given_up_.reset();
    driver_is_held_up = false;
    return false;
  }

  // With the lock held.
  epoch begin_round() noexcept {
    work_.notify_one();
    return rounds_.end_epoch();
  }

  void wake() noexcept {
    if (start()) work_.notify_one();
  }

  static void have_exit_drain() noexcept {
    call_at_exit([] { instance().drain_at_exit(); });
  }

  // Begins the thread if it is not there yet. Is it?
  bool start() noexcept {
    {
      const std::lock_guard hold{rounds_.lock()};
      if (started_) return true;
      try {
        const signals_blocked none_here;
        std::thread{[this] { run(); }}.detach();
        started_ = true;
      } catch (...) {
        // No thread, or no memory for one. The chores stay in the queue, and the next one tries again.
        return false;
      }
    }
    have_exit_drain();  // without the lock: where somebody forks, who has the other one may want this
    return true;
  }

  void run() {
    // Set here: a chore may ask for it before the thread that started this one goes on.
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    static thread_local const end_on_this_thread end{rounds_, exit_};
    rounds_.make([] { return say_that_captures_are_safe(), true; });
    microseconds pause = shortest_pause;
    for (;;) {
      const chore_rounds::round last = rounds_.run([] { return captures_open() && drop_ended_captures(); });
      if (!last.in_vain) sleep(last, pause);
    }
  }

  // Until there is something new, or, while something waits, for a pause.
  void sleep(const chore_rounds::round& last, microseconds& pause) {
    std::unique_lock lock{rounds_.lock()};
    rounds_.end(last);
    const auto called = [&] { return rounds_.wants_another(last); };
    if (last.busy + last.captured == 0) {
      work_.wait(lock, called);
      pause = shortest_pause;
    } else if (work_.wait_for(lock, pause, called)) {
      pause = shortest_pause;
    } else {
      pause = std::min(2 * pause, longest_pause);
    }
  }

  chore_rounds rounds_;
  exit_wait exit_;
  std::atomic<std::thread::id> thread_{};
  std::condition_variable work_;           // with the rounds' lock
  bool started_ = false;                   // under it
  std::optional<std::uint64_t> given_up_;  // that step of weir's thread; of the thread that ends the process
};

// Destroyed on the main thread by exit(), before any static; by some C libraries at its end, too.
struct end_of_main_thread {
  end_of_main_thread() = default;
  end_of_main_thread(const end_of_main_thread&) = delete;
  end_of_main_thread& operator=(const end_of_main_thread&) = delete;
  ~end_of_main_thread() {
    if (!in_forked_child()) reclaimer::instance().exit_may_have_begun();
  }
};

// After all that is left with std::atexit(), and after the destructors of statics.
[[gnu::destructor]] void drain_at_last() noexcept {
  if (!in_forked_child()) reclaimer::instance().drain_at_exit();
}

}  // namespace

void leave_chore(chore& what) noexcept {
  what.of_program = false;
  reclaimer::instance().leave(what);
}

void leave_program_chore(chore& what) noexcept {
  what.of_program = true;
  reclaimer::instance().leave(what);
}

void expect_exit_here() noexcept {
  static thread_local constinit bool is_done = false;
  if (std::exchange(is_done, true) || ::gettid() != ::getpid()) return;
  static thread_local const end_of_main_thread end;
}

[[gnu::constructor]] static void expect_exit_of_main_thread() noexcept { expect_exit_here(); }

bool may_wait_for_device() noexcept { return reclaimer::instance().may_wait_for_device(); }

device_wait::device_wait() noexcept : on_weirs_thread_{reclaimer::instance().is_this_thread()} {
  if (on_weirs_thread_) driver_is_held_up.store(true, std::memory_order_relaxed);
}

device_wait::~device_wait() {
  if (on_weirs_thread_) driver_is_held_up.store(false, std::memory_order_relaxed);
}

}  // namespace detail

std::size_t deferred_count() noexcept { return detail::reclaimer::instance().unfinished(); }

void drain_deferred() noexcept {
  if (!detail::inside_host_function) detail::reclaimer::instance().drain();
}

}  // namespace weir
