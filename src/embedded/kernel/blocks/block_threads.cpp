// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/block_threads.cpp - going from thread to thread, and letting go those that have
// waited.
#include "embedded/kernel/blocks/block_threads.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "embedded/kernel/blocks/block_runner.hpp"
#include "embedded/kernel/blocks/cooperative_grid.hpp"

namespace weir::embedded::kernel {

namespace {

// What a thread has without asking for more: more than the local memory of a GPU's thread, 512 KiB.
// Only what it touches takes memory.
constexpr std::size_t least_stack = 576 * std::size_t{1024};

// What the driver itself may need on a stack, when it is called or when it interrupts.
constexpr std::size_t room_for_driver = 16 * std::size_t{1024};

// Where fibers begin in their pages: some 12 of them side by side in the first level of the cache.
constexpr std::size_t lower_by(unsigned thread) noexcept { return thread % 12 * 320; }

}  // namespace

block_threads::block_threads()
    : fibers_{std::make_unique<fiber[]>(most)},
      warps_{std::make_unique_for_overwrite<warp[]>(most / warp::size)} {}

void block_threads::prepare(const launch& what) {
  const std::size_t limit = stack_limit();
  if (stacks_.require(std::max(least_stack, limit + room_for_driver) + what.kernel->local_bytes))
    begun_ = 0;
  for (const unsigned count = what.threads(); begun_ < count; ++begun_) {
    fibers_[begun_].begin(stacks_.at(begun_), lower_by(begun_), thread_body, this);
  }
}

void block_threads::forget() noexcept {
  begun_ = 0;
  running_ = no_thread;
}

void block_threads::run(const launch& what, const weir_block& block, grid_block* as,
                        shuffler* random) noexcept {
  what_ = &what;
  block_ = &block;
  member_ = as;
  random_ = random;
  count_ = alive_ = what.threads();
  votes_ = 0;
  mask_requests_ = 0;
  warps_begun_ = false;
  waiting_.fill(0);
  release_all();
  running_ = ready_[first_ready_++];
  fiber::go(home_, fibers_[running_]);
  running_ = no_thread;
}

void block_threads::thread_body(void* all) noexcept {
  auto& threads = *static_cast<block_threads*>(all);
  const unsigned me = threads.running_;
  for (;;) {
    threads.what_->kernel->run(threads.block_, threads.what_->arguments, me, 1);
    threads.end(me);
  }
}

// Goes over to the next thread that can run; returns when this one is gone on with. In line, like
// what calls it: each call that is left on a stack is one return more that the processor does not
// foresee.
[[gnu::always_inline]] inline void block_threads::go_on_from(unsigned thread) noexcept {
  if (first_ready_ == last_ready_) [[unlikely]]
    fail_stuck();
  const unsigned next = ready_[first_ready_++ & ring_mask];
  if (next == thread) return;
  running_ = next;
  fiber::go(fibers_[thread], fibers_[next]);
}

// Returns when the thread of the same number in a later block begins.
void block_threads::end(unsigned thread) noexcept {
  states_[thread] = state::ended;
  --alive_;
  if (warps_begun_) {
    const unsigned lane = thread % warp::size;
    let_go(thread - lane, warps_[thread / warp::size].end(lane));
    if (mask_requests_ != 0) answer_if_stuck(thread);
  }
  if (alive_ == 0) {
    fiber::go(fibers_[thread], home_);
    return;
  }
  for (unsigned barrier = 0; barrier < barriers; ++barrier) {
    if (waiting_[barrier] == alive_) release_barrier(static_cast<state>(barrier));
  }
  go_on_from(thread);
}

// All that have not ended wait at the same barrier, so none is ready.
void block_threads::release_all() noexcept {
  first_ready_ = 0;
  last_ready_ = 0;
  if (alive_ == count_) {
    std::iota(ready_.begin(), ready_.begin() + count_, index{0});
    std::fill_n(states_.begin(), count_, state::going);
    last_ready_ = count_;
  } else {
    for (unsigned thread = 0; thread < count_; ++thread) {
      if (states_[thread] != state::ended) make_ready(thread);
    }
  }
  if (random_ != nullptr) random_->shuffle(std::span{ready_.data(), last_ready_});
}

void block_threads::let_go(unsigned first, warp::lanes which) noexcept {
  std::array<unsigned, warp::size> lanes;
  unsigned count = 0;
  for (; which != 0; which &= which - 1)
    lanes[count++] = static_cast<unsigned>(std::countr_zero(which));
  if (random_ != nullptr) random_->shuffle(std::span{lanes.data(), count});
  for (unsigned i = 0; i < count; ++i) make_ready(first + lanes[i]);
}

void block_threads::release_barrier(state barrier) noexcept {
  waiting(barrier) = 0;
  if (barrier == state::at_block_barrier) {
    arrived_last_ = alive_;
    votes_last_ = votes_;
    votes_ = 0;
  } else {
    together_ = barrier == state::at_grid_barrier ? member_->sync_grid() : member_->sync_cluster();
  }
  release_all();
}

[[gnu::always_inline]] inline void block_threads::wait_at(state barrier) noexcept {
  const unsigned me = running_;
  states_[me] = barrier;
  if (++waiting(barrier) == alive_) {
    release_barrier(barrier);
  } else if (mask_requests_ != 0) {
    answer_if_stuck(me);
  }
  go_on_from(me);
}

unsigned block_threads::block_barrier(weir_barrier kind, bool predicate) noexcept {
  votes_ += predicate ? 1 : 0;
  wait_at(state::at_block_barrier);
  switch (kind) {
    case weir_barrier_count: return votes_last_;
    case weir_barrier_and: return votes_last_ == arrived_last_ ? 1 : 0;
    case weir_barrier_or: return votes_last_ != 0 ? 1 : 0;
    default: return 0;
  }
}

bool block_threads::grid_barrier() noexcept {
  wait_at(state::at_grid_barrier);
  return together_;
}

bool block_threads::cluster_barrier() noexcept {
  wait_at(state::at_cluster_barrier);
  return together_;
}

// Warps are looked after from the first time that a thread of the block needs its own.
void block_threads::begin_warps() noexcept {
  if (warps_begun_) return;
  warps_begun_ = true;
  for (unsigned first = 0; first < count_; first += warp::size) {
    warp::lanes alive = 0;
    for (unsigned thread = first; thread < std::min(first + warp::size, count_); ++thread) {
      if (states_[thread] != state::ended) alive |= warp::lanes{1} << (thread - first);
    }
    warps_[first / warp::size].begin(alive);
  }
}

const std::uint64_t* block_threads::exchange(warp::lanes mask, std::uint64_t value,
                                             warp::lanes& present) noexcept {
  begin_warps();
  const unsigned me = running_;
  const unsigned lane = me % warp::size;
  warp& own_warp = warps_[me / warp::size];
  const warp::lanes go = own_warp.arrive(lane, mask, value);
  if (go == 0) {
    states_[me] = state::at_warp;
    if (mask_requests_ != 0) answer_if_stuck(me);
    go_on_from(me);
  } else if (random_ != nullptr) {
    let_go(me - lane, go);
    go_on_from(me);
  } else {
    let_go(me - lane, go & ~(warp::lanes{1} << lane));
  }
  present = own_warp.present(lane);
  return own_warp.values(lane);
}

warp::lanes block_threads::active_mask(const void* location) noexcept {
  begin_warps();
  const unsigned me = running_;
  const unsigned lane = me % warp::size;
  warps_[me / warp::size].request_mask(lane, location);
  states_[me] = state::asking;
  ++mask_requests_;
  answer_if_stuck(me);
  go_on_from(me);
  return warps_[me / warp::size].answer_of(lane);
}

// Answers those that ask for their active lanes, if nobody of the thread's warp can go on without
// that.
void block_threads::answer_if_stuck(unsigned thread) noexcept {
  warp& own_warp = warps_[thread / warp::size];
  if (!own_warp.has_requests()) return;
  const unsigned first = thread - thread % warp::size;
  for (unsigned each = first; each < std::min(first + warp::size, count_); ++each) {
    if (states_[each] == state::going) return;
  }
  const warp::lanes answered = own_warp.answer();
  mask_requests_ -= static_cast<unsigned>(std::popcount(answered));
  let_go(first, answered);
}

bool block_threads::yield() noexcept {
  if (first_ready_ == last_ready_) return false;
  const unsigned me = running_;
  make_ready(me);
  go_on_from(me);
  return true;
}

bool block_threads::stands() noexcept {
  if (running_ == seen_running_ && last_ready_ == seen_ready_) return first_ready_ != last_ready_;
  seen_running_ = running_;
  seen_ready_ = last_ready_;
  return false;
}

// Whoever comes next is known to have had no turn before, and gives way when it is asked next.
void block_threads::yield_from_signal() noexcept {
  if (first_ready_ == last_ready_) return;
  const unsigned me = running_;
  seen_running_ = ready_[first_ready_ & ring_mask];
  seen_ready_ = last_ready_ + 1;
  yield();
  what_->kernel->resume(block_, me);
}

// A GPU would stand still for ever.
void block_threads::fail_stuck() noexcept {
  std::array<unsigned, states> at{};
  for (unsigned thread = 0; thread < count_; ++thread) ++at[static_cast<unsigned>(states_[thread])];
  const auto number = [&](state where) { return at[static_cast<unsigned>(where)]; };
  fail_kernel(abi::CUDA_ERROR_LAUNCH_FAILED,
              "weir: kernel %s: the threads of block (%u, %u, %u) wait for each other for ever: %u "
              "at a barrier of the block, "
              "%u of the grid, %u of the cluster, %u for other lanes of their warp; %u have ended",
              what_->kernel->name, block_->index.x, block_->index.y, block_->index.z,
              number(state::at_block_barrier), number(state::at_grid_barrier),
              number(state::at_cluster_barrier), number(state::at_warp), number(state::ended));
}

}  // namespace weir::embedded::kernel
