// engine/parallel_task.hpp - an operation that is under way, and that workers with nothing else to
// do take part in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "embedded/engine/spin_lock.hpp"

namespace weir::embedded::engine {

// What is taken part in. It belongs to the thread that runs the operation, which offers it, does
// its own share, and withdraws it before it ends (scheduler::publish, withdraw).
class parallel_task {
 public:
  // How a thread does a share. Returns when nothing is left to take, or other work waits
  // (scheduler::has_other_work).
  using body_fn = void (*)(parallel_task&) noexcept;

  explicit parallel_task(body_fn body) noexcept : body_{body} {}
  parallel_task(const parallel_task&) = delete;
  parallel_task& operator=(const parallel_task&) = delete;

  // Does a share on the calling thread.
  void participate() noexcept { body_(*this); }

  // Nothing is left: nobody need come any more.
  void close() noexcept { open_.store(false, std::memory_order_relaxed); }

 private:
  friend class parallel_task_list;

  body_fn body_;
  std::atomic<bool> open_{true};
  std::atomic<std::uint32_t> participants_{0};  // threads that take part; they are waited for
};

// What is offered just now. Where there is no room for more, the work stays with its owner.
//
// Thread safety: all members, from any thread.
class parallel_task_list {
 public:
  // Is there something to take part in? Sequentially consistent, against those who offer and then
  // look who is awake.
  [[nodiscard]] bool has_open() noexcept;

  void add(parallel_task& work) noexcept;

  // Returns when nobody takes part any more.
  void remove(parallel_task& work) noexcept;

  // Something that is open; the caller takes part in it, and then leaves it. Null where there is
  // none.
  [[nodiscard]] parallel_task* enter() noexcept;
  static void leave(parallel_task& work) noexcept;

 private:
  struct slot {
    spin_lock lock;
    std::atomic<parallel_task*> work{nullptr};
  };

  alignas(64) std::atomic<std::uint32_t> published_{0};
  std::array<slot, 16> slots_;
};

}  // namespace weir::embedded::engine
