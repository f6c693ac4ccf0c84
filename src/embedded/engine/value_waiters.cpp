// SPDX-License-Identifier: Apache-2.0
// embedded/engine/value_waiters.cpp - finds the timelines that wait for a word by its address, and
// polls for writes of the host.
#include "embedded/engine/value_waiters.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <mutex>

#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/idle_spin.hpp"
#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/timeline.hpp"
#include "os/futex.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

namespace {

// The waiting timelines whose words lie in cache lines with one hash, linked through
// timeline::next_parked.
struct alignas(64) value_bucket {
  os::spin_lock lock;
  std::atomic<timeline*> first{nullptr};  // written with the lock held
};
constexpr std::size_t line_bytes = 64;

// Never destroyed, because operations may still run at exit.
constinit std::array<value_bucket, 64> value_buckets;

// True if a timeline was added since the polling thread last began to poll.
alignas(64) constinit std::atomic<bool> has_new_waiter{false};
// 1: the polling thread sleeps for more than 80 us and has to be woken
constinit std::atomic<std::uint32_t> poller_sleeps{0};
constinit std::atomic<bool> poller_started{false};

// Unparks the timelines of the bucket whose word lies in these bytes and has the awaited value.
// Returns true if there was one.
bool notify_bucket(value_bucket& target_bucket, std::uintptr_t start, std::size_t bytes) noexcept {
  if (target_bucket.first.load(std::memory_order_relaxed) == nullptr) return false;
  timeline* ready = nullptr;
  std::uint32_t count = 0;
  {
    const std::lock_guard lock{target_bucket.lock};
    timeline* previous = nullptr;
    for (timeline* line = target_bucket.first.load(std::memory_order_relaxed); line != nullptr;) {
      timeline* const next = line->next_parked;
      if (reinterpret_cast<std::uintptr_t>(line->watched_word()) - start < bytes &&
          line->value_reached()) {
        if (previous == nullptr) {
          target_bucket.first.store(next, std::memory_order_relaxed);
        } else {
          previous->next_parked = next;
        }
        line->next_parked = ready;
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
  timeline::unpark_all(ready);
  return true;
}

// Lets the polling thread sleep for `microseconds`, which is then doubled up to 1 ms. At 1 ms, and
// if no timeline waits, sleeps until one is added. Returns true if add_value_waiter() woke the
// thread. It cannot interrupt a sleep of up to 80 us.
bool sleep_between_polls(std::uint32_t& microseconds) noexcept {
  constexpr std::uint32_t max_unwoken_interval = 80;  // sleeps up to this length need no wake-up
  constexpr std::uint32_t max_interval = 1000;
  const std::chrono::microseconds length{microseconds};
  const bool indefinite = microseconds == max_interval && value_waiter_count.load() == 0;
  microseconds = std::min(2 * microseconds, max_interval);
  if (length.count() <= max_unwoken_interval) {
    os::futex_wait_for(poller_sleeps, 0, length);
    return false;
  }
  poller_sleeps.store(1);
  if (!has_new_waiter.load()) {
    if (indefinite) {
      os::futex_wait(poller_sleeps, 1);
    } else {
      os::futex_wait_for(poller_sleeps, 1, length);
    }
  }
  return poller_sleeps.exchange(0) == 0;
}

[[noreturn]] void poll_values() noexcept {
  constexpr std::uint32_t min_interval = 20;
  std::uint32_t microseconds = min_interval;
  idle_spin spin;
  for (;;) {
    const bool is_new = has_new_waiter.exchange(false);
    const bool found = notify_all_value_waiters();
    if (found) spin.reset();  // after one value the host often writes another soon
    if (is_new || found) microseconds = min_interval;
    if (spin.spin_once()) continue;
    if (sleep_between_polls(microseconds)) spin.reset();
  }
}

}  // namespace

bool add_value_waiter(timeline& line) noexcept {
  value_bucket& target_bucket =
      value_buckets[reinterpret_cast<std::uintptr_t>(line.watched_word()) / line_bytes %
                    value_buckets.size()];
  {
    const std::lock_guard lock{target_bucket.lock};
    value_waiter_count.fetch_add(1, std::memory_order_relaxed);
    timeline* const others = target_bucket.first.load(std::memory_order_relaxed);
    line.next_parked = others;
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
  if (!has_new_waiter.load(std::memory_order_relaxed)) has_new_waiter.store(true);
  if (!poller_started.load(std::memory_order_relaxed) && !poller_started.exchange(true)) {
    start_driver_thread("weir-values", &poll_values);
  } else if (poller_sleeps.load() != 0 && poller_sleeps.exchange(0) != 0) {
    os::futex_wake(poller_sleeps, 1);
  }
  return true;
}

void notify_value_waiters(const void* address, std::size_t bytes) noexcept {
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t first = start / line_bytes;
  const std::uintptr_t lines = (start + bytes - 1) / line_bytes - first + 1;
  for (std::uintptr_t i = 0; i < std::min<std::uintptr_t>(lines, value_buckets.size()); ++i)
    notify_bucket(value_buckets[(first + i) % value_buckets.size()], start, bytes);
}

bool notify_all_value_waiters() noexcept {
  bool found_any = false;
  for (value_bucket& target_bucket : value_buckets)
    found_any |= notify_bucket(target_bucket, 0, std::numeric_limits<std::size_t>::max());
  return found_any;
}

}  // namespace weir::embedded::engine
