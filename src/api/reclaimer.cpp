// api/reclaimer.cpp - weir's own thread.
#include "api/reclaimer.hpp"

#include "api/captures.hpp"
#include "api/guard.hpp"
#include "api/never_destroyed.hpp"
#include "driver/at_exit.hpp"
#include "driver/forked_child.hpp"

#include <weir/deferred.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
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

// A chain of chores in order.
struct chore_list {
  chore* first = nullptr;
  chore* last = nullptr;

  void append(chore& what) noexcept {
    what.next = nullptr;
    (last != nullptr ? last->next : first) = &what;
    last = &what;
  }
};

class reclaimer {
 public:
  // Chores come while statics are destroyed, and the thread looks at it until the process is gone.
  static reclaimer& instance() noexcept {
    static never_destroyed<reclaimer> the_one;
    return *the_one;
  }

  void leave(chore& what) noexcept {
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    chore* head = queue_.load(std::memory_order_relaxed);
    do {
      what.next = head;
    } while (!queue_.compare_exchange_weak(head, &what, std::memory_order_release, std::memory_order_relaxed));
    if (in_forked_child()) return;  // where it stays, as the thread stayed in the parent
    // Only the first of a burst pays for waking the thread; while there is none, each tries to start it.
    if (head == nullptr || thread_.load(std::memory_order_relaxed) == std::thread::id{}) wake();
    // Statics that are destroyed after the drain at exit leave further ones: they get a drain of their own.
    if (exiting_.load(std::memory_order_relaxed) && exiting_.exchange(false)) drain_at_exit();
  }

  [[nodiscard]] std::size_t unfinished() const noexcept {
    return in_forked_child() ? 0 : unfinished_.load(std::memory_order_acquire);
  }

  // Waits until all is done but what waits for a capture, and, if `busy_too` is false, for devices.
  void drain(bool busy_too) noexcept {
    if (in_forked_child() || std::this_thread::get_id() == thread_.load(std::memory_order_relaxed)) return;
    std::unique_lock lock{mutex_};
    if (unfinished() == 0 || !start_thread()) return;
    // Only a round that begins after this call tells what is done.
    const std::uint64_t mine = ++drains_;
    work_.notify_one();
    idle_.wait(lock, [&] {
      if (answered_ < mine) return false;
      const std::size_t excused = waiting_for_captures_ + (busy_too ? 0 : busy_);
      return queue_.load(std::memory_order_relaxed) == nullptr && unfinished() <= excused;
    });
  }

 private:
  void wake() noexcept {
    const std::lock_guard lock{mutex_};
    if (start_thread()) work_.notify_one();
  }

  static void drain_at_exit() noexcept {
    call_at_exit([] {
      instance().exiting_ = true;
      instance().drain(false);
    });
  }

  // With the lock held.
  bool start_thread() noexcept {
    if (started_) return true;
    try {
      std::thread{[this] { run(); }}.detach();
      started_ = true;
      drain_at_exit();
    } catch (...) {
      // No thread, or no memory for one. The chores stay in the queue, and the next one tries again.
    }
    return started_;
  }

  void run() {
    // Set here: a chore may ask for it before the thread that started this one goes on.
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    say_that_captures_are_safe();
    chore_list later;
    microseconds pause = shortest_pause;
    for (;;) {
      const chore_list earlier = std::exchange(later, {});
      std::size_t busy = 0;
      std::size_t captured = 0;
      const auto run_all = [&](chore* list) {
        while (list != nullptr) {
          chore* const what = list;
          list = what->next;  // running it frees it
          switch (what->run(*what)) {
            case chore_result::done: unfinished_.fetch_sub(1, std::memory_order_release); continue;
            case chore_result::busy: ++busy; break;
            case chore_result::capture_open: ++captured; break;
          }
          later.append(*what);
        }
      };
      run_all(earlier.first);
      run_all(take_all());
      if (captured != 0 && captures_open() && drop_ended_captures()) continue;  // one that nobody told us the end of
      sleep(busy, captured, pause);
    }
  }

  // The queue's chores, the oldest first.
  chore* take_all() noexcept {
    chore* turned = nullptr;
    for (chore* taken = queue_.exchange(nullptr, std::memory_order_acquire); taken != nullptr;) {
      chore* const next = taken->next;
      taken->next = turned;
      turned = taken;
      taken = next;
    }
    return turned;
  }

  // Until there is something new, or, while something waits, for a pause.
  void sleep(std::size_t busy, std::size_t captured, microseconds& pause) {
    std::unique_lock lock{mutex_};
    busy_ = busy;
    waiting_for_captures_ = captured;
    answered_ = seen_;
    idle_.notify_all();
    const auto called = [&] { return queue_.load(std::memory_order_relaxed) != nullptr || drains_ != seen_; };
    if (busy + captured == 0) {
      work_.wait(lock, called);
    } else if (work_.wait_for(lock, pause, called)) {
      pause = shortest_pause;
    } else {
      pause = std::min(2 * pause, longest_pause);
    }
    // Nobody is excused while chores run: drain() decides at the end of a round only.
    busy_ = 0;
    waiting_for_captures_ = 0;
    seen_ = drains_;
  }

  std::atomic<chore*> queue_{nullptr};  // a stack: the newest first
  std::atomic<std::size_t> unfinished_{0};
  std::atomic<std::thread::id> thread_{};
  std::atomic<bool> exiting_{false};  // a drain at exit has begun, and nobody has asked for another since

  std::mutex mutex_;  // held for the following only, never while a chore runs
  std::condition_variable work_;
  std::condition_variable idle_;
  bool started_ = false;
  std::uint64_t drains_ = 0;    // counts calls of drain(), each of which wakes the thread
  std::uint64_t seen_ = 0;      // drains_ when the present round began
  std::uint64_t answered_ = 0;  // seen_ of the last round that ended
  std::size_t busy_ = 0;
  std::size_t waiting_for_captures_ = 0;
};

}  // namespace

void leave_chore(chore& what) noexcept { reclaimer::instance().leave(what); }

}  // namespace detail

std::size_t deferred_count() noexcept { return detail::reclaimer::instance().unfinished(); }

void drain_deferred() noexcept {
  if (!detail::inside_host_function) detail::reclaimer::instance().drain(true);
}

}  // namespace weir
