// SPDX-License-Identifier: Apache-2.0
// embedded/engine/parallel_task.hpp - a running operation in which idle workers can take part.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

// The work of one running operation, divided into shares. Owned by the thread that runs the
// operation. The owner publishes the task by scheduler::publish(), does its own share, and retracts
// the task by scheduler::retract() before the operation ends.
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

  // Called when nothing is left to do, so that no more workers join.
  void close() noexcept { open_.store(false, std::memory_order_relaxed); }

 private:
  friend class parallel_task_list;

  body_fn body_;
  std::atomic<bool> open_{true};                // false after close()
  std::atomic<std::uint32_t> participants_{0};  // threads that take part; remove() waits for them
};

// The published tasks. If 16 tasks are published already, add() does nothing, and the owner of the
// further task does all its work alone.
//
// Thread safety: all members may be called from any thread.
class parallel_task_list {
 public:
  // Returns true if there is an open task. Sequentially consistent: pairs with threads that publish
  // and then check which workers are awake.
  [[nodiscard]] bool has_open() noexcept;

  // Publishes a task, unless the list is full.
  void add(parallel_task& work) noexcept;

  // Retracts a task. Returns when no worker takes part any more.
  void remove(parallel_task& work) noexcept;

  // Joins an open task, which the caller must leave afterwards. Returns null if there is none.
  [[nodiscard]] parallel_task* enter() noexcept;
  // Ends the calling thread's part. The task may be destroyed afterwards.
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
