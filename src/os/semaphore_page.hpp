// SPDX-License-Identifier: Apache-2.0
// os/semaphore_page.hpp - a semaphore in shared memory, for embedded devices and host threads.
#pragma once

#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <ctime>

#include "os/futex.hpp"

namespace weir::os {

// The layout at the beginning of a shared memory segment of at least 4096 bytes. The whole state of
// a semaphore is in these words, so any process in any language can use it.
// docs/guide/external-semaphores.md describes them.
struct semaphore_page {
  static constexpr std::uint64_t magic_number =
      0x3130'6d65'7372'6577;  // "wersem01", the first byte first
  static constexpr std::uint32_t binary = 1;
  static constexpr std::uint32_t timeline = 2;
  static constexpr std::size_t bytes = 4096;

  std::uint64_t magic;  // magic_number in a valid page
  std::uint32_t kind;   // `binary` or `timeline`
  // A futex word: a thread that changes the value adds 1 and wakes all threads that sleep on it.
  std::atomic<std::uint32_t> changes;
  std::atomic<std::uint64_t> value;  // binary: 0 or 1; timeline: any value, which should only grow

  // Sets the value and wakes all threads that wait for a change, in any process.
  void set(std::uint64_t new_value) noexcept {
    value.store(new_value, std::memory_order_release);
    changes.fetch_add(1, std::memory_order_release);
    // Not FUTEX_WAKE_PRIVATE: the sleeping threads may belong to another process.
    futex(changes, FUTEX_WAKE, INT_MAX, nullptr);
  }

  // Returns true if the value of a timeline semaphore is at least `needed_value`. A binary
  // semaphore ignores `needed_value`: if its value is 1, it is set to 0, and only the waiter that
  // did so gets true.
  [[nodiscard]] bool try_acquire(std::uint64_t needed_value) noexcept {
    if (kind == timeline) return value.load(std::memory_order_acquire) >= needed_value;
    std::uint64_t signalled = 1;
    return value.compare_exchange_strong(signalled, 0, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }

  // Sleeps while `changes` equals `seen`, for at most the relative `timeout`. May return
  // spuriously.
  void wait_for_change(std::uint32_t seen, const timespec* timeout) noexcept {
    futex(changes, FUTEX_WAIT, seen, timeout);
  }
};

static_assert(offsetof(semaphore_page, kind) == 8 && offsetof(semaphore_page, changes) == 12);
static_assert(offsetof(semaphore_page, value) == 16 && sizeof(semaphore_page) == 24);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace weir::os
