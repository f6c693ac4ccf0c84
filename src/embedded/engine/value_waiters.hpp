// SPDX-License-Identifier: Apache-2.0
// embedded/engine/value_waiters.hpp - timelines that wait for a word of memory to have a value.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/engine/timeline.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

// Operations report the memory that they write (notify_written.hpp), which unparks timelines that
// wait for a word there. The host writes without reporting it, so a thread polls all words, too. It
// polls often when a timeline begins to wait, then less often, down to once a millisecond. It
// sleeps while no timeline waits. Under a deterministic schedule there is no such thread: each step
// polls.
//
// One per process, never destroyed.
//
// Thread safety: all members may be called from any thread.
class value_waiters {
 public:
  static value_waiters& instance() noexcept;

  // Takes a parked timeline and unparks it when its value is reached. Returns false, without taking
  // it, if the value is reached already.
  [[nodiscard]] bool add(timeline& line) noexcept;

  // Unparks timelines whose word lies in these bytes and has its value.
  void notify(const void* address, std::size_t bytes) noexcept;

  // Like notify(), for words at any address. Returns true if a timeline was unparked.
  bool notify_all() noexcept;

 private:
  // Timelines whose words share a cache line (or its hash), linked through the timelines.
  struct alignas(64) bucket {
    os::spin_lock lock;
    std::atomic<timeline*> first{nullptr};  // written with the lock held
  };
  static constexpr std::size_t line_bytes = 64;

  bool notify_bucket(bucket& target_bucket, std::uintptr_t start, std::size_t bytes) noexcept;
  void poll_loop() noexcept;
  bool sleep(std::uint32_t& microseconds) noexcept;

  std::array<bucket, 64> buckets_;

  // A timeline was added since the thread last polled.
  alignas(64) std::atomic<bool> has_new_{false};
  // 1: the thread sleeps for a long time and has to be woken
  std::atomic<std::uint32_t> sleeping_{0};
  std::atomic<bool> thread_started_{false};
};

}  // namespace weir::embedded::engine
