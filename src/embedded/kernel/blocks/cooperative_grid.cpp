// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/cooperative_grid.cpp - blocks that run at the same time, and meet.
#include "embedded/kernel/blocks/cooperative_grid.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "embedded/kernel/blocks/block_runner.hpp"
#include "embedded/kernel/blocks/thread_pool.hpp"
#include "embedded/kernel/blocks/thread_variables.hpp"
#include "os/futex.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::kernel {

namespace {

// What a gate is.
enum : std::uint32_t { closed, asleep, opened };

// How long the others wait for the one that has its turn.
constexpr std::chrono::milliseconds turn_timeout{50};

// As long as each has a processor, the others are about to come.
int spins_of(unsigned members) noexcept {
  return members <= std::thread::hardware_concurrency() ? 4000 : 0;
}

}  // namespace

bool grid_block::sync_grid() noexcept { return grid_->arrive_and_wait(grid_->grid_, number_); }

bool grid_block::sync_cluster() noexcept {
  const block_runner& here = *running_kernel();
  auto& own = grid_->members_[number_].shared;
  if (own.thread_local_ones == nullptr) {
    const thread_variables variables =
        variables_of_module(reinterpret_cast<const void*>(here.what().kernel->run));
    own = {here.block().shared, variables.first, variables.bytes};
  }
  return grid_->arrive_and_wait(grid_->cluster_of(number_), number_);
}

void* grid_block::address_in(const void* address, unsigned rank) noexcept {
  const unsigned other = number_ / grid_->cluster_size_ * grid_->cluster_size_ + rank;
  const auto& own = grid_->members_[number_].shared;
  const auto& theirs = grid_->members_[other].shared;
  if (other == number_) return const_cast<void*>(address);
  const auto* const at = static_cast<const std::byte*>(address);
  const auto* const dynamic = reinterpret_cast<std::byte*>(own.dynamic);
  if (dynamic != nullptr && theirs.dynamic != nullptr && at >= dynamic &&
      at < dynamic + grid_->what_.shared) {
    return theirs.dynamic + (at - dynamic);
  }
  if (own.thread_local_ones == nullptr || theirs.thread_local_ones == nullptr) return nullptr;
  const std::ptrdiff_t offset = at - own.thread_local_ones;
  if (offset < 0 || static_cast<std::size_t>(offset) >= own.thread_local_bytes) return nullptr;
  return theirs.thread_local_ones + offset;
}

cooperative_grid::cooperative_grid(const launch& what, bool in_turns)
    : what_{what},
      in_turns_{in_turns},
      cluster_size_{what.cluster_blocks()},
      size_{what.cooperative ? static_cast<unsigned>(what.blocks()) : cluster_size_},
      rounds_{what.blocks() / size_},
      members_{std::make_unique<member_state[]>(size_)},
      clusters_(size_ / cluster_size_),
      moving_{size_} {
  for (unsigned number = 0; number < size_; ++number) {
    members_[number].handle.grid_ = this;
    members_[number].handle.number_ = number;
  }
  round_.expected = size_;
  if (in_turns_) members_[0].wake_word.store(opened, std::memory_order_relaxed);
  begin_round();
}

void cooperative_grid::begin_round() noexcept {
  grid_ = {size_, 0};
  for (barrier& cluster : clusters_) cluster = {cluster_size_, 0};
  for (unsigned number = 0; number < size_; ++number) members_[number].shared = {};
}

abi::CUresult cooperative_grid::run(std::uint64_t seed) {
  seed_ = seed;
  const pool_body body = [](void* all, unsigned number) noexcept {
    static_cast<cooperative_grid*>(all)->work(number);
  };
  if (!run_on_thread_pool(size_, body, this)) return abi::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  const abi::CUresult status = failure_.load(std::memory_order_relaxed);
  if (status != abi::CUDA_SUCCESS) end_cancel();
  return status;
}

void cooperative_grid::work(unsigned number) noexcept {
  if (in_turns_ && number != 0) wait_for_wake(number);
  for (std::uint64_t round = 0; round < rounds_ && run_block(number, round); ++round) {
  }
  end(number);
}

// Runs a block and waits for those of the same round. False: the launch has failed.
bool cooperative_grid::run_block(unsigned number, std::uint64_t round) noexcept {
  if (failed()) return false;
  abi::CUresult status = abi::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  try {
    block_runner& runner = block_runner::of_this_thread();
    runner.prepare(what_);
    status =
        runner.run(what_, block_of(number, round), 1, seed_, &failure_, &members_[number].handle);
  } catch (const std::bad_alloc&) {
    // The others cannot go on without this one.
  }
  {
    const std::lock_guard lock{mutex_};
    if (status != abi::CUDA_SUCCESS) fail(status);
    if (failed()) return false;
    if (rounds_ == 1) return true;
    leave(grid_);
    leave(cluster_of(number));
  }
  return arrive_and_wait(round_, number);
}

// The linear index of the block that a member runs: clusters follow each other as their first
// blocks do.
std::uint64_t cooperative_grid::block_of(unsigned number, std::uint64_t round) const noexcept {
  const std::uint64_t cluster = round * clusters_.size() + number / cluster_size_;
  const unsigned rank = number % cluster_size_;
  const weir_extent& size = what_.cluster;
  const unsigned along_x = what_.grid.x / size.x;
  const unsigned along_y = what_.grid.y / size.y;
  const std::uint64_t x = cluster % along_x * size.x + rank % size.x;
  const std::uint64_t y = cluster / along_x % along_y * size.y + rank / size.x % size.y;
  const std::uint64_t z = cluster / along_x / along_y * size.z + rank / size.x / size.y;
  return x + what_.grid.x * (y + what_.grid.y * z);
}

bool cooperative_grid::arrive_and_wait(barrier& where, unsigned number) noexcept {
  {
    const std::lock_guard lock{mutex_};
    if (failed()) return false;
    if (++where.arrived == where.expected) {
      if (&where == &round_) begin_round();
      open(where);
      return true;
    }
    members_[number].waits_at = &where;
    members_[number].wake_word.store(closed, std::memory_order_relaxed);
    --moving_;
    fail_if_stuck();
    if (in_turns_) pass_turn(number);
  }
  wait_for_wake(number);
  return !failed();
}

void cooperative_grid::end(unsigned number) noexcept {
  const std::lock_guard lock{mutex_};
  members_[number].ended = true;
  --moving_;
  if (rounds_ == 1) {
    leave(grid_);
    leave(cluster_of(number));
  }
  fail_if_stuck();
  if (in_turns_) pass_turn(number);
}

void cooperative_grid::leave(barrier& from) noexcept {
  if (--from.expected != 0 && from.arrived == from.expected) open(from);
}

// All have come: those that wait go on, each in its turn where there are turns.
void cooperative_grid::open(barrier& all) noexcept {
  all.arrived = 0;
  for (unsigned number = 0; number < size_; ++number) {
    if (members_[number].waits_at != &all) continue;
    members_[number].waits_at = nullptr;
    ++moving_;
    if (!in_turns_) let_go(number);
  }
}

void cooperative_grid::fail(abi::CUresult why) noexcept {
  abi::CUresult well = abi::CUDA_SUCCESS;
  if (failure_.compare_exchange_strong(well, why)) begin_cancel();
  for (unsigned number = 0; number < size_; ++number) let_go(number);
}

// A GPU would stand still for ever.
void cooperative_grid::fail_if_stuck() noexcept {
  if (moving_ != 0 || failed()) return;
  const auto waits = [](const member_state& one) { return one.waits_at != nullptr; };
  if (std::none_of(members_.get(), members_.get() + size_, waits)) return;
  std::fprintf(stderr,
               "weir: kernel %s: blocks wait for each other for ever, at barriers of the grid or "
               "of a cluster\n",
               what_.kernel->name);
  fail(abi::CUDA_ERROR_LAUNCH_FAILED);
}

bool cooperative_grid::waits_for_turn(unsigned number) const noexcept {
  const member_state& one = members_[number];
  return !one.ended && one.waits_at == nullptr &&
         one.wake_word.load(std::memory_order_relaxed) != opened;
}

bool cooperative_grid::let_next_go(unsigned from) noexcept {
  for (unsigned ahead = 1; ahead <= size_; ++ahead) {
    const unsigned next = (from + ahead) % size_;
    if (!waits_for_turn(next)) continue;
    last_turn_ = next;
    turns_.fetch_add(1, std::memory_order_relaxed);
    let_go(next);
    return true;
  }
  return false;
}

void cooperative_grid::pass_turn(unsigned from) noexcept {
  if (turns_beside_ != 0) {
    --turns_beside_;  // another one has it already
  } else {
    static_cast<void>(let_next_go(from));
  }
}

// Nobody has had a turn for a while: one more, if none was given since `seen`.
void cooperative_grid::check_turn(std::uint32_t& seen) noexcept {
  const std::lock_guard lock{mutex_};
  const std::uint32_t now = turns_.load(std::memory_order_relaxed);
  if (std::exchange(seen, now) == now && !failed() && let_next_go(last_turn_)) ++turns_beside_;
}

void cooperative_grid::let_go(unsigned number) noexcept {
  auto& wake_word = members_[number].wake_word;
  if (wake_word.exchange(opened, std::memory_order_acq_rel) == asleep)
    weir::os::futex_wake(wake_word, 1);
}

void cooperative_grid::wait_for_wake(unsigned number) noexcept {
  auto& wake_word = members_[number].wake_word;
  for (int spins = spins_of(size_); spins > 0; --spins) {
    if (wake_word.load(std::memory_order_acquire) == opened) return;
    weir::os::pause();
  }
  std::uint32_t is = closed;
  wake_word.compare_exchange_strong(is, asleep, std::memory_order_acq_rel);
  std::uint32_t seen = turns_.load(std::memory_order_relaxed);
  while (wake_word.load(std::memory_order_acquire) != opened) {
    if (in_turns_) {
      weir::os::futex_wait_for(wake_word, asleep, turn_timeout);
      if (wake_word.load(std::memory_order_acquire) != opened) check_turn(seen);
    } else {
      weir::os::futex_wait(wake_word, asleep);
    }
  }
}

}  // namespace weir::embedded::kernel
