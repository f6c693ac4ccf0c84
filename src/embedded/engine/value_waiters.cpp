// SPDX-License-Identifier: Apache-2.0
// embedded/engine/value_waiters.cpp - finds the timelines that wait for a word by its address, and
// polls for writes of the host.
#include "embedded/engine/value_waiters.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>

#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/idle_spin.hpp"
#include "embedded/engine/notify_written.hpp"
#include "embedded/engine/scheduler.hpp"
#include "os/futex.hpp"

namespace weir::embedded::engine {

void notify_value_waiters(const void* address, std::size_t bytes) noexcept {
  value_waiters::instance().notify(address, bytes);
}

bool notify_all_value_waiters() noexcept { return value_waiters::instance().notify_all(); }

value_waiters& value_waiters::instance() noexcept {
  static constinit value_waiters instance;
  return instance;
}

bool value_waiters::add(timeline& line) noexcept {
  bucket& target_bucket = buckets_[reinterpret_cast<std::uintptr_t>(line.watched_word()) /
                                   line_bytes % buckets_.size()];
  {
    const std::lock_guard lock{target_bucket.lock};
    value_waiter_count.fetch_add(1, std::memory_order_relaxed);
    timeline* const others = target_bucket.first.load(std::memory_order_relaxed);
    line.next_value_waiter = others;
    target_bucket.first.store(&line, std::memory_order_relaxed);
    // Either this read sees the written value, or the writer sees the timeline
    // (notify_written_ordered).
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (line.value_reached()) {
      target_bucket.first.store(others, std::memory_order_relaxed);
      value_waiter_count.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
  }
  if (scheduler::instance().deterministic() != nullptr) return true;
  if (!has_new_.load(std::memory_order_relaxed)) has_new_.store(true);
  if (!thread_started_.load(std::memory_order_relaxed) && !thread_started_.exchange(true)) {
    start_driver_thread("weir-values", [this] { poll_loop(); });
  } else if (sleeping_.load() != 0 && sleeping_.exchange(0) != 0) {
    os::futex_wake(sleeping_, 1);
  }
  return true;
}

void value_waiters::notify(const void* address, std::size_t bytes) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t first = start / line_bytes;
  const std::uintptr_t lines = (start + bytes - 1) / line_bytes - first + 1;
  for (std::uintptr_t i = 0; i < std::min<std::uintptr_t>(lines, buckets_.size()); ++i) {
    notify_bucket(buckets_[(first + i) % buckets_.size()], start, bytes);
  }
}

bool value_waiters::notify_all() noexcept {
  bool found_any = false;
  for (bucket& target_bucket : buckets_)
    found_any |= notify_bucket(target_bucket, 0, std::numeric_limits<std::size_t>::max());
  return found_any;
}

bool value_waiters::notify_bucket(bucket& target_bucket, std::uintptr_t start,
                                  std::size_t bytes) noexcept {
  if (target_bucket.first.load(std::memory_order_relaxed) == nullptr) return false;
  timeline* ready = nullptr;
  std::uint32_t count = 0;
  {
    const std::lock_guard lock{target_bucket.lock};
    timeline* previous = nullptr;
    for (timeline* line = target_bucket.first.load(std::memory_order_relaxed); line != nullptr;) {
      timeline* const next = line->next_value_waiter;
      if (reinterpret_cast<std::uintptr_t>(line->watched_word()) - start < bytes &&
          line->value_reached()) {
        if (previous == nullptr) {
          target_bucket.first.store(next, std::memory_order_relaxed);
        } else {
          previous->next_value_waiter = next;
        }
        line->next_value_waiter = ready;
        ready = line;
        ++count;
      } else {
        previous = line;
      }
      line = next;
    }
  }
  if (count == 0) return false;
  value_waiter_count.fetch_sub(count, std::memory_order_relaxed);
  // Without the lock, because unparking may start a worker. `ready` reverses the list, so the
  // oldest waiter is unparked first.
  while (ready != nullptr) {
    timeline& line = *ready;
    ready = line.next_value_waiter;
    line.unpark();
  }
  return true;
}

// Lets the polling thread sleep for `microseconds`, which is then doubled up to 1 ms. At 1 ms, and
// if no timeline waits, sleeps until one is added. Returns true if add() woke the thread. add()
// cannot interrupt a sleep of up to 80 us.
bool value_waiters::sleep(std::uint32_t& microseconds) noexcept {
  constexpr std::uint32_t max_unwoken_interval = 80;  // sleeps up to this length need no wake-up
  constexpr std::uint32_t max_interval = 1000;
  const std::chrono::microseconds length{microseconds};
  const bool indefinite = microseconds == max_interval && value_waiter_count.load() == 0;
  microseconds = std::min(2 * microseconds, max_interval);
  if (length.count() <= max_unwoken_interval) {
    os::futex_wait_for(sleeping_, 0, length);
    return false;
  }
  sleeping_.store(1);
  if (!has_new_.load()) {
    if (indefinite) {
      os::futex_wait(sleeping_, 1);
    } else {
      os::futex_wait_for(sleeping_, 1, length);
    }
  }
  return sleeping_.exchange(0) == 0;
}

void value_waiters::poll_loop() noexcept {
  constexpr std::uint32_t min_interval = 20;
  std::uint32_t microseconds = min_interval;
  idle_spin spin;
  for (;;) {
    const bool is_new = has_new_.exchange(false);
    const bool found = notify_all();
    if (found) spin.reset();  // after one value the host often writes another soon
    if (is_new || found) microseconds = min_interval;
    if (spin.spin_once()) continue;
    if (sleep(microseconds)) spin.reset();
  }
}

}  // namespace weir::embedded::engine
