// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/block_threads.hpp - the threads of a block, each a fiber, and how they wait for
// each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "embedded/kernel/blocks/thread_order.hpp"
#include "embedded/kernel/blocks/warp.hpp"
#include "embedded/kernel/fibers/fiber.hpp"
#include "embedded/kernel/fibers/fiber_stacks.hpp"
#include "embedded/kernel/launch.hpp"

namespace weir::embedded::kernel {

class grid_block;

// Runs one block after the other on a thread of the host. A thread of the block that waits goes
// straight over to the next one that can run; where none can, and none ever will, the launch fails.
//
// The fibers are kept from block to block: one that has run its thread waits for the next block.
//
// Thread safety: one thread of the host.
class block_threads {
 public:
  static constexpr unsigned most = 1024;

  // Throws std::bad_alloc.
  block_threads();

  // Gets what blocks of a launch need. Throws std::bad_alloc.
  void prepare(const launch& what);

  // Runs a block. `as` is what it is to those that its grid and cluster barriers wait for; null
  // where there are none. Orders are drawn from `random` where it is not null.
  void run(const launch& what, const weir_block& block, grid_block* as, shuffler* random) noexcept;

  // The thread has jumped out of a block: what the fibers were doing is forgotten.
  void forget() noexcept;

  // Where the thread of the host was when it began the block.
  [[nodiscard]] fiber& home() noexcept { return home_; }
  [[nodiscard]] bool is_overflow(const void* address) const noexcept {
    return stacks_.is_below_one(address);
  }
  [[nodiscard]] bool running() const noexcept { return running_ != no_thread; }

  // For the thread that runs; see weir_services. False: the launch has failed elsewhere, and this
  // block with it.
  unsigned block_barrier(weir_barrier kind, bool predicate) noexcept;
  [[nodiscard]] bool grid_barrier() noexcept;
  [[nodiscard]] bool cluster_barrier() noexcept;
  const std::uint64_t* exchange(warp::lanes mask, std::uint64_t value,
                                warp::lanes& present) noexcept;
  warp::lanes active_mask(const void* location) noexcept;

  // Lets the others run that can. False if there are none.
  bool yield() noexcept;

  // For who interrupts the thread that runs: does it run since the last time that this was asked?
  [[nodiscard]] bool stands() noexcept;
  // The same as yield(), of a thread that does not know of it.
  void yield_from_signal() noexcept;

 private:
  using index = std::uint16_t;
  static constexpr unsigned no_thread = ~0u;
  static constexpr unsigned ring_mask = most - 1;

  // What a thread of the block does.
  enum class state : std::uint8_t {
    at_block_barrier,
    at_grid_barrier,
    at_cluster_barrier,
    at_warp,
    asking,
    going,
    ended
  };
  static constexpr unsigned barriers = 3;
  static constexpr unsigned states = 7;

  static void thread_body(void* all) noexcept;
  void end(unsigned thread) noexcept;
  void wait_at(state barrier) noexcept;
  void release_barrier(state barrier) noexcept;
  void release_all() noexcept;
  void let_go(unsigned first, warp::lanes which) noexcept;
  void answer_if_stuck(unsigned thread) noexcept;
  void go_on_from(unsigned thread) noexcept;
  void begin_warps() noexcept;
  [[noreturn]] void fail_stuck() noexcept;
  [[nodiscard]] unsigned& waiting(state barrier) noexcept {
    return waiting_[static_cast<unsigned>(barrier)];
  }

  void make_ready(unsigned thread) noexcept {
    states_[thread] = state::going;
    ready_[last_ready_++ & ring_mask] = static_cast<index>(thread);
  }

  fiber home_;
  std::unique_ptr<fiber[]> fibers_;
  unsigned begun_ = 0;  // so many of them have been begun
  fiber_stacks stacks_;

  // Of the present block.
  const launch* what_ = nullptr;
  const weir_block* block_ = nullptr;
  grid_block* member_ = nullptr;
  shuffler* random_ = nullptr;
  unsigned count_ = 0;
  unsigned alive_ = 0;
  unsigned running_ = no_thread;
  unsigned votes_ = 0;       // at the barrier that is filling up
  unsigned votes_last_ = 0;  // at the one before
  unsigned arrived_last_ = 0;
  bool together_ = true;  // at the last barrier of the grid or the cluster: all have come
  unsigned mask_requests_ = 0;
  bool warps_begun_ = false;
  unsigned seen_running_ = no_thread;  // by who interrupts it
  unsigned seen_ready_ = 0;
  std::array<unsigned, barriers> waiting_{};
  std::array<state, most> states_{};

  // Those that can run, in a ring.
  unsigned first_ready_ = 0;
  unsigned last_ready_ = 0;
  std::array<index, most> ready_{};

  std::unique_ptr<warp[]> warps_;
};

}  // namespace weir::embedded::kernel
