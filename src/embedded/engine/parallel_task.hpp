// SPDX-License-Identifier: Apache-2.0
// embedded/engine/parallel_task.hpp - a running operation in which idle workers can take part.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

// Owned by the thread that runs the operation. The owner publishes it, does its own share, and
// retracts it before the operation ends (scheduler::publish, retract).
class parallel_task {
 public:
  // Does a share of the work. Returns when nothing is left, or when other work waits
  // (scheduler::has_other_work).
  using body_fn = void (*)(parallel_task&) noexcept;

  explicit parallel_task(body_fn body) noexcept : body_{body} {}
  parallel_task(const parallel_task&) = delete;
  parallel_task& operator=(const parallel_task&) = delete;

  // Does a share on the calling thread.
  void participate() noexcept { body_(*this); }

  // Nothing is left: no more workers need to join.
  void close() noexcept { open_.store(false, std::memory_order_relaxed); }

 private:
  friend class parallel_task_list;

  body_fn body_;
  std::atomic<bool> open_{true};
  std::atomic<std::uint32_t> participants_{0};  // threads that take part; remove() waits for them
};

// The published tasks. If the list is full, the owner does all the work.
//
// Thread safety: all members may be called from any thread.
class parallel_task_list {
 public:
  // Returns true if there is an open task. Sequentially consistent: pairs with threads that publish
  // and then check which workers are awake.
  [[nodiscard]] bool has_open() noexcept;

  void add(parallel_task& work) noexcept;

  // Returns when no worker takes part any more.
  void remove(parallel_task& work) noexcept;

  // Joins an open task, which the caller must leave afterwards. Returns null if there is none.
  [[nodiscard]] parallel_task* enter() noexcept;
  static void leave(parallel_task& work) noexcept;

 private:
  struct slot {
    os::spin_lock lock;
    std::atomic<parallel_task*> work{nullptr};
  };

  alignas(64) std::atomic<std::uint32_t> published_{0};
  std::array<slot, 16> slots_;
};

}  // namespace weir::embedded::engine
