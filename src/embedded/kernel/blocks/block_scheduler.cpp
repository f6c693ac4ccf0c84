// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/block_scheduler.cpp - taking blocks, as many at a time as are worth it.
#include "embedded/kernel/blocks/block_scheduler.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>

#include "embedded/engine/parallel_task.hpp"
#include "embedded/engine/scheduler.hpp"

namespace weir::embedded::kernel {

namespace {

using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// Waking a worker takes some 5 to 25 us.
constexpr auto enough_to_share = 20us;
// Long enough that the counter is no matter, short enough that nobody is waited for long at the
// end.
constexpr auto share_time = 20us;

class block_scheduler final : public engine::parallel_task {
 public:
  block_scheduler(const launch& what, std::uint64_t seed) noexcept
      : parallel_task{[](parallel_task& all) noexcept {
          static_cast<block_scheduler&>(all).run_share();
        }},
        what_{what},
        blocks_{what.blocks()},
        seed_{seed},
        workers_{engine::scheduler::instance().max_workers()} {}

  // The owner's share. It offers the rest once it has worked for a while and there is a rest.
  abi::CUresult run(block_runner& here) noexcept {
    engine::scheduler& s = engine::scheduler::instance();
    bool published = false;
    const clock::time_point began = clock::now();
    for (clock::time_point before = began; run_some(here);) {
      const clock::time_point now = clock::now();
      adapt(now - before);
      before = now;
      if (published || workers_ == 1 || now - began < enough_to_share || next_.load() >= blocks_)
        continue;
      published = true;
      s.publish(*this);
    }
    close();
    if (published) s.retract(*this);
    const abi::CUresult status = failure_.load(std::memory_order_acquire);
    if (status != abi::CUDA_SUCCESS) end_cancel();
    return status;
  }

 private:
  // The share of a worker that has come.
  void run_share() noexcept {
    engine::scheduler& s = engine::scheduler::instance();
    try {
      block_runner& here = block_runner::of_this_thread();
      here.prepare(what_);
      while (!s.has_other_work()) {
        if (!run_some(here)) close();
        if (next_.load(std::memory_order_relaxed) >= blocks_) return;
      }
    } catch (const std::bad_alloc&) {
      close();  // it is done without
    }
  }

  // Runs the blocks that come next. False where there are none.
  bool run_some(block_runner& here) noexcept {
    const std::uint64_t many = many_.load(std::memory_order_relaxed);
    const std::uint64_t first = next_.fetch_add(many, std::memory_order_relaxed);
    if (first >= blocks_) return false;
    const abi::CUresult status =
        here.run(what_, first, std::min(many, blocks_ - first), seed_, &failure_);
    if (status == abi::CUDA_SUCCESS) return true;
    abi::CUresult well = abi::CUDA_SUCCESS;
    if (failure_.compare_exchange_strong(well, status, std::memory_order_release)) begin_cancel();
    next_.store(blocks_, std::memory_order_relaxed);  // nobody begins another one
    return false;
  }

  // So many that they take the time of a share; fewer near the end, for all to end together.
  void adapt(clock::duration took) noexcept {
    const std::uint64_t many = many_.load(std::memory_order_relaxed);
    const std::uint64_t left = blocks_ - std::min(blocks_, next_.load(std::memory_order_relaxed));
    const std::uint64_t most = std::max<std::uint64_t>(left / (4 * std::uint64_t{workers_}), 1);
    std::uint64_t next = many;
    if (took * 2 < share_time) {
      next = many * 4;
    } else if (took > share_time * 2) {
      next = many / 2;
    }
    many_.store(std::clamp<std::uint64_t>(next, 1, most), std::memory_order_relaxed);
  }

  const launch& what_;
  const std::uint64_t blocks_;
  const std::uint64_t seed_;
  const unsigned workers_;
  alignas(64) std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> many_{1};
  std::atomic<abi::CUresult> failure_{abi::CUDA_SUCCESS};
};

}  // namespace

abi::CUresult run_blocks(const launch& what, block_runner& here, std::uint64_t seed) noexcept {
  return block_scheduler{what, seed}.run(here);
}

}  // namespace weir::embedded::kernel
