// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/cooperative_grid.hpp - blocks that wait for each other: those of a cooperative
// launch, and those of a cluster.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "driver/abi.hpp"
#include "embedded/kernel/launch.hpp"

namespace weir::embedded::kernel {

class cooperative_grid;

// A block of a team, as the thread of the host that runs it sees it.
class grid_block {
 public:
  // Waits for the other blocks of the grid, or of the cluster. False: the launch has failed.
  [[nodiscard]] bool sync_grid() noexcept;
  [[nodiscard]] bool sync_cluster() noexcept;

  // What the address of a shared variable is in a block of the same cluster; null where it is none,
  // or that block has not been at a barrier of the cluster yet.
  [[nodiscard]] void* address_in(const void* address, unsigned rank) noexcept;

 private:
  friend class cooperative_grid;

  cooperative_grid* grid_ = nullptr;
  unsigned number_ = 0;
};

// As many threads of the host as there are blocks that have to be under way at the same time, each
// with a block of its own from start to end, because static shared variables are the thread's.
// Without a cooperative launch one cluster follows the other. Blocks may also wait for each other
// by looking at memory.
class cooperative_grid {
 public:
  // In turns: one block at a time, in an order that does not depend on time, unless one takes very
  // long, which may wait for another that has no turn. Throws std::bad_alloc.
  cooperative_grid(const launch& what, bool in_turns);

  // Runs the launch on this thread and others. CUDA_SUCCESS, or what it failed with.
  abi::CUresult run(std::uint64_t seed);

 private:
  friend class grid_block;

  // Blocks that meet.
  struct barrier {
    unsigned expected = 0;
    unsigned arrived = 0;
  };
  // Where the shared variables of a block are.
  struct shared_places {
    unsigned char* dynamic = nullptr;
    std::byte* thread_local_ones = nullptr;
    std::size_t thread_local_bytes = 0;
  };
  struct member_state {
    grid_block handle;
    barrier* waits_at = nullptr;  // this and the next guarded by the team's mutex
    bool ended = false;
    shared_places shared;
    std::atomic<std::uint32_t> wake_word{0};
  };

  void work(unsigned number) noexcept;
  [[nodiscard]] std::uint64_t block_of(unsigned number, std::uint64_t round) const noexcept;
  [[nodiscard]] barrier& cluster_of(unsigned number) noexcept {
    return clusters_[number / cluster_size_];
  }
  [[nodiscard]] bool arrive_and_wait(barrier& where, unsigned number) noexcept;
  bool run_block(unsigned number, std::uint64_t round) noexcept;
  void end(unsigned number) noexcept;
  void leave(barrier& from) noexcept;
  void open(barrier& all) noexcept;
  void fail(abi::CUresult why) noexcept;
  void fail_if_stuck() noexcept;
  [[nodiscard]] bool failed() const noexcept {
    return failure_.load(std::memory_order_relaxed) != abi::CUDA_SUCCESS;
  }
  void pass_turn(unsigned from) noexcept;
  [[nodiscard]] bool let_next_go(unsigned from) noexcept;
  void check_turn(std::uint32_t& seen) noexcept;
  [[nodiscard]] bool waits_for_turn(unsigned number) const noexcept;
  void let_go(unsigned number) noexcept;
  void wait_for_wake(unsigned number) noexcept;
  void begin_round() noexcept;

  const launch& what_;
  const bool in_turns_;
  const unsigned cluster_size_;
  const unsigned size_;
  const std::uint64_t rounds_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<member_state[]> members_;

  std::mutex mutex_;  // guards what follows
  barrier grid_;
  barrier round_;  // between clusters
  std::vector<barrier> clusters_;
  unsigned moving_ = 0;        // those that wait for nobody
  unsigned last_turn_ = 0;     // whose it was
  unsigned turns_beside_ = 0;  // given beside those of members that did not end theirs
  std::atomic<std::uint32_t> turns_{0};
  std::atomic<abi::CUresult> failure_{abi::CUDA_SUCCESS};
};

}  // namespace weir::embedded::kernel
