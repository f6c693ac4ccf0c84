// engine/value_waiters.hpp - the timelines that wait for a word of memory to take a value.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/engine/spin_lock.hpp"
#include "embedded/engine/timeline.hpp"

namespace weir::embedded::engine {

// Operations that write memory say where (notify_written.hpp), and those who wait for a word there
// go on at once. The host writes without telling, so one thread looks at all words as well: closely
// when somebody begins to wait, then ever less often, up to once a millisecond; it sleeps where
// nothing is waited for. Under a deterministic schedule there is no such thread: each step looks.
//
// Thread safety: all members, from any thread. One a process, never destroyed.
class value_waiters {
 public:
  static value_waiters& instance() noexcept;

  // Takes a parked timeline; it is unparked when its value is there. False, and not taken, if it is
  // there already.
  [[nodiscard]] bool add(timeline& line) noexcept;

  // Lets those go on whose word lies in these bytes and has its value.
  void notify(const void* address, std::size_t bytes) noexcept;

  // The same for all. True if there were some.
  bool notify_all() noexcept;

 private:
  // Those whose words share a cache line, and others, linked through the timelines.
  struct alignas(64) bucket {
    spin_lock lock;
    std::atomic<timeline*> first{nullptr};  // written with the lock held
  };
  static constexpr std::size_t line_bytes = 64;

  bool notify_bucket(bucket& in, std::uintptr_t from, std::size_t bytes) noexcept;
  void poll_loop() noexcept;
  bool sleep(std::uint32_t& microseconds) noexcept;

  std::array<bucket, 64> buckets_;

  alignas(64) std::atomic<bool> has_new_{false};  // somebody was added since the thread looked last
  std::atomic<std::uint32_t> sleeping_{0};  // 1: the thread sleeps for long, and has to be woken
  std::atomic<bool> thread_started_{false};
};

}  // namespace weir::embedded::engine
