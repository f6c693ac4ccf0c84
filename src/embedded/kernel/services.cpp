// SPDX-License-Identifier: Apache-2.0
// kernel/services.cpp - what the driver offers to kernels that run.
#include "embedded/kernel/services.hpp"

#include <time.h>

#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "embedded/kernel/blocks/block_runner.hpp"
#include "embedded/kernel/blocks/cooperative_grid.hpp"
#include "embedded/kernel/condition_values.hpp"
#include "embedded/kernel/device_heap.hpp"
#include "embedded/kernel/device_print.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::kernel {

namespace {

using namespace abi;

// The threads of the block that runs. A kernel that was not compiled to wait cannot.
block_threads& threads() noexcept {
  block_runner& runner = *running_kernel();
  if (!runner.has_threads()) [[unlikely]]
    fail_kernel(CUDA_ERROR_LAUNCH_FAILED, "weir: kernel %s waits, and says that it does not",
                runner.what().kernel->name);
  return runner.threads();
}

unsigned block_barrier(weir_barrier kind, unsigned predicate) {
  return threads().block_barrier(kind, predicate != 0);
}

const unsigned long long* warp_exchange(unsigned mask, unsigned long long value,
                                        unsigned* present) {
  static_assert(sizeof(unsigned long long) == sizeof(std::uint64_t));
  return reinterpret_cast<const unsigned long long*>(threads().exchange(mask, value, *present));
}

void warp_barrier(unsigned mask) {
  warp::lanes present = 0;
  threads().exchange(mask, 0, present);
}

unsigned active_mask(const void* location) { return threads().active_mask(location); }

void grid_barrier() {
  block_threads& all = threads();
  if (running_kernel()->member() == nullptr || !running_kernel()->what().cooperative) {
    fail_kernel(CUDA_ERROR_LAUNCH_FAILED,
                "weir: kernel %s waits for its grid in a launch that is not cooperative",
                running_kernel()->what().kernel->name);
  }
  claim_stack();  // blocks meet under a lock
  if (!all.grid_barrier()) leave_kernel(CUDA_ERROR_LAUNCH_FAILED);
}

// A block without a cluster is a cluster of its own.
void cluster_barrier() {
  block_threads& all = threads();
  if (running_kernel()->member() == nullptr || running_kernel()->what().cluster_blocks() == 1) {
    all.block_barrier(weir_barrier_plain, false);
    return;
  }
  claim_stack();
  if (!all.cluster_barrier()) leave_kernel(CUDA_ERROR_LAUNCH_FAILED);
}

void* cluster_address(const void* address, unsigned rank) {
  block_runner& runner = *running_kernel();
  if (rank >= runner.what().cluster_blocks()) leave_kernel(CUDA_ERROR_ILLEGAL_ADDRESS);
  if (runner.member() == nullptr) return const_cast<void*>(address);
  void* const there = runner.member()->address_in(address, rank);
  if (there == nullptr) leave_kernel(CUDA_ERROR_ILLEGAL_ADDRESS);
  return there;
}

CUresult meaning_of(weir_fault why) noexcept {
  switch (why) {
    case weir_fault_assert: return CUDA_ERROR_ASSERT;
    case weir_fault_misaligned: return CUDA_ERROR_MISALIGNED_ADDRESS;
    default: return CUDA_ERROR_LAUNCH_FAILED;
  }
}

void fail(weir_fault why, const char* what) {
  if (what != nullptr) fail_kernel(meaning_of(why), "%s", what);
  leave_kernel(meaning_of(why));
}

void set_condition_of_graph(unsigned long long handle, unsigned value) {
  const bool known = [&] {
    const block_runner::own_work ours;
    return set_condition(handle, value);
  }();
  if (known) return;
  fail_kernel(CUDA_ERROR_LAUNCH_FAILED,
              "weir: kernel %s sets a condition that no graph has: handle %#llx",
              running_kernel()->what().kernel->name, handle);
}

unsigned long long nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<unsigned long long>(now.tv_sec) * 1'000'000'000u +
         static_cast<unsigned long long>(now.tv_nsec);
}

unsigned long long cycles() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return nanoseconds();
#endif
}

// Others have their turn; a thread that is alone really sleeps.
void sleep(unsigned time) {
  constexpr unsigned long long too_short_to_sleep = 20'000;
  block_runner& runner = *running_kernel();
  const unsigned long long until = nanoseconds() + time;
  if (runner.has_threads() && runner.threads().yield()) return;
  if (time >= too_short_to_sleep) {
    std::this_thread::sleep_for(std::chrono::nanoseconds{time});
  } else {
    while (nanoseconds() < until) weir::os::pause();
  }
}

}  // namespace

const weir_services& services() noexcept {
  static constexpr weir_services all{
      .block_barrier = block_barrier,
      .warp_barrier = warp_barrier,
      .warp_exchange = warp_exchange,
      .active_mask = active_mask,
      .grid_barrier = grid_barrier,
      .cluster_barrier = cluster_barrier,
      .cluster_address = cluster_address,
      .fail = fail,
      .print = print_from_device,
      .clock = cycles,
      .time = nanoseconds,
      .sleep = sleep,
      .allocate = allocate_on_device,
      .free = free_on_device,
      .set_condition = set_condition_of_graph,
  };
  return all;
}

}  // namespace weir::embedded::kernel
