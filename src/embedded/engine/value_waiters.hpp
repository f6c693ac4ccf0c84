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

// A timeline, the sequence of operations of a stream, is parked while its next operation waits for
// a word. unpark() lets it continue. Operations report the memory that they write
// (notify_written.hpp), and this class then unparks the timelines that wait for a word there.
//
// The host writes without reporting it, so a polling thread checks all words, too. It polls often
// when a timeline begins to wait, then less often, down to once a millisecond. It sleeps while no
// timeline waits. Under a deterministic schedule there is no polling thread. Each step, the run of
// one operation, then checks all words first.
//
// One per process, never destroyed.
//
// Thread safety: all members may be called from any thread.
class value_waiters {
 public:
  static value_waiters& instance() noexcept;

  // Adds a parked timeline to the waiting timelines, which are unparked when their word has the
  // awaited value. Returns false, without adding the timeline, if the word already has the value or
  // the device has failed. The caller must then end the wait itself.
  [[nodiscard]] bool add(timeline& line) noexcept;

  // Unparks timelines whose word lies in these bytes and has the value that they wait for.
  void notify(const void* address, std::size_t bytes) noexcept;

  // Like notify(), for words at any address. Returns true if a timeline was unparked.
  bool notify_all() noexcept;

 private:
  // The waiting timelines whose words lie in cache lines with one hash, linked through
  // timeline::next_value_waiter.
  struct alignas(64) bucket {
    os::spin_lock lock;
    std::atomic<timeline*> first{nullptr};  // written with the lock held
  };
  static constexpr std::size_t line_bytes = 64;

  bool notify_bucket(bucket& target_bucket, std::uintptr_t start, std::size_t bytes) noexcept;
  void poll_loop() noexcept;
  bool sleep(std::uint32_t& microseconds) noexcept;

  std::array<bucket, 64> buckets_;

  // True if a timeline was added since the polling thread last began to poll.
  alignas(64) std::atomic<bool> has_new_{false};
  // 1: the polling thread sleeps for more than 80 us and has to be woken
  std::atomic<std::uint32_t> sleeping_{0};
  std::atomic<bool> thread_started_{false};
};

}  // namespace weir::embedded::engine
