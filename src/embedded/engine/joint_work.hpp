// engine/joint_work.hpp - an operation that is under way, and that workers with nothing else to do take part in.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "embedded/engine/spin_lock.hpp"

namespace weir::embedded::engine {

// What is taken part in. It belongs to the thread that runs the operation, which offers it, does its own share, and
// withdraws it before it ends (scheduler::offer, withdraw).
class joint_work {
 public:
  // How a thread does a share. Returns when nothing is left to take, or other work waits (scheduler::has_other_work).
  using share_fn = void (*)(joint_work&) noexcept;

  explicit joint_work(share_fn share) noexcept : share_{share} {}
  joint_work(const joint_work&) = delete;
  joint_work& operator=(const joint_work&) = delete;

  // Does a share on the calling thread.
  void take_part() noexcept { share_(*this); }

  // Nothing is left: nobody need come any more.
  void close() noexcept { open_.store(false, std::memory_order_relaxed); }

 private:
  friend class joint_work_list;

  share_fn share_;
  std::atomic<bool> open_{true};
  std::atomic<std::uint32_t> inside_{0};  // threads that take part; they are waited for
};

// What is offered just now. Where there is no room for more, the work stays with its owner.
//
// Thread safety: all members, from any thread.
class joint_work_list {
 public:
  // Is there something to take part in? Sequentially consistent, against those who offer and then look who is awake.
  [[nodiscard]] bool has_open() noexcept;

  void add(joint_work& work) noexcept;

  // Returns when nobody takes part any more.
  void remove(joint_work& work) noexcept;

  // Something that is open; the caller takes part in it, and then leaves it. Null where there is none.
  [[nodiscard]] joint_work* enter() noexcept;
  static void leave(joint_work& work) noexcept;

 private:
  struct place {
    spin_lock lock;
    std::atomic<joint_work*> work{nullptr};
  };

  alignas(64) std::atomic<std::uint32_t> offered_{0};
  std::array<place, 16> places_;
};

}  // namespace weir::embedded::engine
