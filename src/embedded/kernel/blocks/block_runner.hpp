// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/block_runner.hpp - a thread of the host while it runs blocks of kernels.
#pragma once

#include <setjmp.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "driver/abi.hpp"
#include "embedded/kernel/blocks/block_threads.hpp"
#include "embedded/kernel/blocks/shared_area.hpp"
#include "embedded/kernel/blocks/thread_order.hpp"
#include "embedded/kernel/fibers/interruption.hpp"
#include "embedded/kernel/launch.hpp"

namespace weir::embedded::kernel {

class grid_block;

// What a thread of the host needs to run blocks, made when it first runs one and kept until it
// ends. A kernel that cannot go on is left by a jump: nothing of it is cleaned up, as on a GPU.
//
// Thread safety: its own thread only.
class block_runner {
 public:
  // Throws std::bad_alloc.
  static block_runner& of_this_thread();
  [[nodiscard]] static block_runner* if_there() noexcept;  // null where the thread has none yet

  block_runner(const block_runner&) = delete;
  block_runner& operator=(const block_runner&) = delete;
  ~block_runner();

  // Gets what blocks of a launch need. Throws std::bad_alloc.
  void prepare(const launch& what);

  // Runs `count` blocks from the `first` one in their linear order; to be prepared for.
  // CUDA_SUCCESS, or what the kernel has failed with. `seed` is what the order of threads follows
  // from. Blocks that do not end are left once there is a `failure` elsewhere.
  abi::CUresult run(const launch& what, std::uint64_t first, std::uint64_t count,
                    std::uint64_t seed, const std::atomic<abi::CUresult>* failure = nullptr,
                    grid_block* as = nullptr) noexcept;

  // For what a kernel calls.
  [[nodiscard]] const launch& what() const noexcept { return *what_; }
  [[nodiscard]] const weir_block& block() const noexcept { return block_; }
  [[nodiscard]] block_threads& threads() noexcept { return *threads_; }
  [[nodiscard]] bool has_threads() const noexcept {
    return threads_ != nullptr && threads_->running();
  }
  [[nodiscard]] grid_block* member() const noexcept { return member_; }

  // Leaves the kernel that runs.
  [[noreturn]] void leave(abi::CUresult why) noexcept;

  // For a signal handler: has the launch, or the device, failed meanwhile? And its thread as others
  // see it.
  [[nodiscard]] abi::CUresult external_failure() const noexcept;
  [[nodiscard]] interruptible& interruption() noexcept { return interruption_; }

  // For a signal handler: is an address where a stack ends?
  [[nodiscard]] bool is_overflow(const void* address) const noexcept;

  // While the driver itself works for the kernel, a fault is not the kernel's; but for a stack that
  // has no room for that, which is looked for before.
  class own_work {
   public:
    own_work() noexcept;
    ~own_work();
    own_work(const own_work&) = delete;
    own_work& operator=(const own_work&) = delete;

   private:
    block_runner* runner_;
  };

 private:
  block_runner();
  void run_all(std::uint64_t count, std::uint64_t seed) noexcept;
  void run_one(std::uint64_t seed) noexcept;
  void recover() noexcept;

  const launch* what_ = nullptr;
  grid_block* member_ = nullptr;
  abi::CUresult failure_ = abi::CUDA_SUCCESS;
  const std::atomic<abi::CUresult>* failure_of_launch_ = nullptr;
  interruptible interruption_;
  weir_block block_{};
  std::unique_ptr<block_threads> threads_;
  shared_area shared_;
  sigjmp_buf landing_;
  std::unique_ptr<std::byte[]> signal_stack_;  // where the thread had none
  const std::byte* stack_ends_ = nullptr;      // the lowest address of the thread's own
};

namespace detail {
// The runner of this thread while a kernel runs on it.
extern constinit thread_local block_runner* running [[gnu::tls_model("initial-exec")]];
}  // namespace detail

[[nodiscard]] inline block_runner* running_kernel() noexcept { return detail::running; }

// Leaves the kernel that runs on this thread, which then has failed.
[[noreturn]] void leave_kernel(abi::CUresult why) noexcept;

// The same, with a line for stderr in printf's form.
[[noreturn]] void fail_kernel(abi::CUresult why, const char* format, ...) noexcept
    __attribute__((format(printf, 2, 3)));

// Touches as much of the stack as the driver needs for its own work: where that is not there, it is
// the kernel's fault, and found out before the driver holds a lock.
void claim_stack() noexcept;

inline block_runner::own_work::own_work() noexcept {
  claim_stack();
  runner_ = std::exchange(detail::running, nullptr);
}
inline block_runner::own_work::~own_work() { detail::running = runner_; }

}  // namespace weir::embedded::kernel
