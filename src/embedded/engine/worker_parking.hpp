// SPDX-License-Identifier: Apache-2.0
// embedded/engine/worker_parking.hpp - the scheduler's lists of timelines, and which of its threads
// are awake.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>

#include "embedded/engine/timeline.hpp"
#include "os/futex.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

// A FIFO list of timelines, which are the sequences of operations of streams. They are linked
// through their member Next. push() takes no lock. A timeline is in a list at most once at a time.
//
// Thread safety: all members may be called from any thread.
template <timeline* timeline::*Next>
class timeline_list {
 public:
  void push(timeline& line) noexcept {
    timeline* last = pushed_.load(std::memory_order_relaxed);
    do {
      line.*Next = last;
    } while (!pushed_.compare_exchange_weak(last, &line));
  }

  // Removes the oldest timeline. Returns null if the list is empty or another thread is taking its
  // last entry.
  [[nodiscard]] timeline* pop() noexcept {
    if (empty()) return nullptr;
    const std::lock_guard lock{pop_lock_};
    timeline* line = first_.load(std::memory_order_relaxed);
    if (line == nullptr) line = reverse(pushed_.exchange(nullptr));
    if (line != nullptr) first_.store(line->*Next);
    return line;
  }

  // Returns true if the list is empty. The loads are sequentially consistent: they pair with
  // threads that add and then check which workers are awake (worker_parking). Does not count
  // entries that a concurrent pop() is moving from pushed_ to first_. The thread that called pop()
  // checks the list again afterwards.
  [[nodiscard]] bool empty() const noexcept {
    return first_.load() == nullptr && pushed_.load() == nullptr;
  }

 private:
  static timeline* reverse(timeline* last) noexcept {
    timeline* first = nullptr;
    while (last != nullptr) {
      timeline* const previous = std::exchange(last->*Next, first);
      first = std::exchange(last, previous);
    }
    return first;
  }

  std::atomic<timeline*> pushed_{nullptr};  // the newest first
  alignas(64) os::spin_lock pop_lock_;
  std::atomic<timeline*> first_{nullptr};
};

using ready_list = timeline_list<&timeline::next_ready>;
using host_list = timeline_list<&timeline::next_host>;

// Counts the threads that take timelines from one list. A thread is searching (awake, about to look
// at the list), busy, or asleep. While a thread is searching, an addition to the list wakes no
// other thread. A burst of additions therefore costs one wake-up.
//
// A thread that adds to the list calls on_added() afterwards. A thread that stops searching looks
// at the list once more afterwards, and calls on_added() if it is not empty. Entries are therefore
// never left to sleeping threads, and no lock is needed.
//
// Thread safety: all members may be called from any thread.
class worker_parking {
 public:
  // The next step of a thread that has added to the list.
  enum class action : std::uint8_t {
    none,   // nothing: a thread is searching
    wake,   // call wake()
    start,  // start a thread
    busy,   // none can take the entry now: all threads are busy, and no more may be started
  };

  // Call after an addition to the list. Returns what the caller has to do. Under action::wake and
  // action::start, the sleeping or new thread already counts as searching.
  [[nodiscard]] action on_added(unsigned max_threads) noexcept {
    std::uint64_t current = counts_.load();
    for (;;) {
      if (searching(current) != 0) return action::none;
      if (asleep(current) != 0) {
        if (counts_.compare_exchange_weak(current, current - one_asleep + one_searching))
          return action::wake;
      } else if (started(current) < max_threads) {
        if (counts_.compare_exchange_weak(current, current + one_started + one_searching))
          return action::start;
      } else {
        return action::busy;
      }
    }
  }
  // Wakes one thread in sleep(). Call this after action::wake.
  void wake() noexcept {
    permits_.fetch_add(1, std::memory_order_release);
    os::futex_wake(permits_, 1);
  }

  // Returns true if no thread is searching or asleep.
  [[nodiscard]] bool all_busy() const noexcept {
    const std::uint64_t current = counts_.load();
    return searching(current) == 0 && asleep(current) == 0;
  }

  // Returns a counter that changes whenever a thread has found work.
  [[nodiscard]] std::uint64_t found_count() const noexcept { return counts_.load() >> (3 * bits); }

  // Called by a searching thread that has found work. The thread is busy now.
  void on_found() noexcept { counts_.fetch_add(one_found - one_searching); }
  // Called by a busy thread that has finished its work. The thread is searching again.
  void on_finished() noexcept { counts_.fetch_add(one_searching); }
  // Called by a searching thread that is about to call sleep(). The thread counts as asleep now.
  void prepare_sleep() noexcept { counts_.fetch_add(one_asleep - one_searching); }

  // Called instead of on_finished() by a busy thread that exits.
  void on_exit() noexcept { counts_.fetch_sub(one_started); }
  // Reverts action::start, if the thread could not be started.
  void on_start_failed() noexcept { counts_.fetch_sub(one_started + one_searching); }

  // Sleeps until woken; call after prepare_sleep(). Afterwards the thread is searching.
  void sleep() noexcept {
    for (;;) {
      std::uint32_t permits = permits_.load(std::memory_order_acquire);
      while (permits != 0) {
        if (permits_.compare_exchange_weak(permits, permits - 1, std::memory_order_acq_rel)) return;
      }
      os::futex_wait(permits_, 0);
    }
  }

 private:
  static constexpr int bits = 12;
  static constexpr std::uint64_t one_searching = 1;
  static constexpr std::uint64_t one_asleep = std::uint64_t{1} << bits;
  static constexpr std::uint64_t one_started = std::uint64_t{1} << (2 * bits);
  static constexpr std::uint64_t one_found = std::uint64_t{1} << (3 * bits);  // may overflow
  static constexpr std::uint64_t mask = one_asleep - 1;
  static std::uint64_t searching(std::uint64_t counts) noexcept { return counts & mask; }
  static std::uint64_t asleep(std::uint64_t counts) noexcept { return counts >> bits & mask; }
  static std::uint64_t started(std::uint64_t counts) noexcept {
    return counts >> (2 * bits) & mask;
  }

  // The numbers of searching, sleeping and started threads, of 12 bits each, and found_count().
  alignas(64) std::atomic<std::uint64_t> counts_{0};
  // The number of calls of wake() that no thread in sleep() has used yet.
  alignas(64) std::atomic<std::uint32_t> permits_{0};
};

// Additional workers while workers are blocked. A kernel may spin until the program or another
// stream writes memory, and occupies its worker until then. If there is work but no worker has
// found any for a while, the watchdog of the scheduler adds a spare worker. The blocked worker ends
// when its operation is done.
//
// Thread safety: all members may be called from any thread.
class spare_workers {
 public:
  // The number of kernels that a GPU runs concurrently at most.
  static constexpr unsigned max_count = 128;

  // Returns the current number of additional workers.
  [[nodiscard]] unsigned size() const noexcept { return size_.load(std::memory_order_relaxed); }

  // Adds a worker, up to max_count. Called by one thread only.
  void add_one() noexcept {
    if (size() >= max_count) return;
    size_.fetch_add(1, std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_relaxed);
  }

  // Returns the number of workers added so far. If it has changed while a worker ran an operation,
  // that operation blocked the worker.
  [[nodiscard]] std::uint32_t generation() const noexcept {
    return generation_.load(std::memory_order_relaxed);
  }

  // Returns true if the calling worker must end because a spare worker has replaced it. The number
  // of additional workers is then one less. `seen_generation`: the result of generation() before
  // the worker ran its last operation.
  [[nodiscard]] bool try_retire(std::uint32_t seen_generation) noexcept {
    if (generation() == seen_generation) [[likely]]
      return false;
    unsigned expected = size();
    while (expected != 0 &&
           !size_.compare_exchange_weak(expected, expected - 1, std::memory_order_relaxed)) {
    }
    return expected != 0;
  }

 private:
  std::atomic<unsigned> size_{0};
  std::atomic<std::uint32_t> generation_{0};
};

}  // namespace weir::embedded::engine
