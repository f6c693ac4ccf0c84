// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/block_runner.cpp - running blocks one after the other, and leaving one that cannot
// go on.

// The check of jumps that this turns on takes one from a fiber to the thread's own stack for a
// mistake.
#undef _FORTIFY_SOURCE

#include "embedded/kernel/blocks/block_runner.hpp"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <numeric>
#include <span>

#include "embedded/engine/waiting.hpp"
#include "embedded/kernel/blocks/cooperative_grid.hpp"
#include "embedded/kernel/fibers/fault.hpp"

namespace weir::embedded::kernel {

namespace {

constinit thread_local block_runner* own [[gnu::tls_model("initial-exec")]] = nullptr;

constexpr std::size_t signal_stack_bytes = std::size_t{64} << 10;

// A key, as for thread_state: what runs at the end of a thread may still need the runner.
pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made;
    const auto end = [](void* runner) {
      own = nullptr;
      delete static_cast<block_runner*>(runner);
    };
    if (pthread_key_create(&made, end) != 0) throw std::bad_alloc{};
    return made;
  }();
  return key;
}

const std::byte* end_of_stack() noexcept {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return nullptr;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  return static_cast<const std::byte*>(lowest);
}

// Does each thread of a block need a stack of its own? One whose threads a single call can run does
// where they are to run in a random order.
bool needs_threads(const weir_kernel& kernel) noexcept {
  if ((kernel.flags & weir_kernel_waits) == 0) return false;
  return (kernel.flags & weir_kernel_whole) == 0 || configured_order().random;
}

}  // namespace

constinit thread_local block_runner* detail::running = nullptr;

block_runner* block_runner::if_there() noexcept { return own; }

block_runner& block_runner::of_this_thread() {
  if (own != nullptr) return *own;
  std::unique_ptr<block_runner> made{new block_runner};
  if (pthread_setspecific(end_key(), made.get()) != 0) throw std::bad_alloc{};
  own = made.release();
  return *own;
}

// A handler cannot run on a stack that is used up, nor where its signal is blocked: then a fault
// ends the process.
block_runner::block_runner() : stack_ends_{end_of_stack()} {
  watch_faults();
  let_faults_through();
  stack_t before{};
  if (sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
  signal_stack_ = std::make_unique_for_overwrite<std::byte[]>(signal_stack_bytes);
  const stack_t ours{.ss_sp = signal_stack_.get(), .ss_flags = 0, .ss_size = signal_stack_bytes};
  sigaltstack(&ours, nullptr);
}

block_runner::~block_runner() {
  stack_t now{};
  if (signal_stack_ == nullptr || sigaltstack(nullptr, &now) != 0 ||
      now.ss_sp != signal_stack_.get())
    return;
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
}

void block_runner::prepare(const launch& what) {
  block_.grid = what.grid;
  block_.size = what.block;
  block_.cluster = what.cluster;
  block_.shared = what.shared == 0 ? nullptr : shared_.of(what.shared);
  block_.shared_bytes = what.shared;
  if (!needs_threads(*what.kernel)) return;
  if (threads_ == nullptr) threads_ = std::make_unique<block_threads>();
  threads_->prepare(what);
}

abi::CUresult block_runner::run(const launch& what, std::uint64_t first, std::uint64_t count,
                                std::uint64_t seed, const std::atomic<abi::CUresult>* failure,
                                grid_block* as) noexcept {
  what_ = &what;
  member_ = as;
  failure_of_launch_ = failure;
  failure_ = abi::CUDA_SUCCESS;
  if (first == 0) {
    block_.index = {0, 0, 0};
  } else {
    block_.index.x = static_cast<unsigned>(first % what.grid.x);
    block_.index.y = static_cast<unsigned>(first / what.grid.x % what.grid.y);
    block_.index.z = static_cast<unsigned>(first / what.grid.x / what.grid.y);
  }
  interruption_.begin(what.kernel->resume != nullptr && needs_threads(*what.kernel));
  detail::running = this;
  if (sigsetjmp(landing_, 0) == 0) {
    run_all(count, seed + first);
  } else {
    recover();
  }
  detail::running = nullptr;
  interruption_.end();
  return failure_;
}

abi::CUresult block_runner::external_failure() const noexcept {
  if (const abi::CUresult status = engine::device_failure(); status != abi::CUDA_SUCCESS)
    return status;
  return failure_of_launch_ == nullptr ? abi::CUDA_SUCCESS
                                       : failure_of_launch_->load(std::memory_order_acquire);
}

void block_runner::run_all(std::uint64_t count, std::uint64_t seed) noexcept {
  const bool plain = !needs_threads(*what_->kernel) && !configured_order().random;
  const unsigned threads = what_->threads();
  for (;;) {
    if (plain) {
      what_->kernel->run(&block_, what_->arguments, 0, threads);
    } else {
      run_one(seed++);
    }
    if (--count == 0) return;
    if (++block_.index.x != block_.grid.x) continue;
    block_.index.x = 0;
    if (++block_.index.y != block_.grid.y) continue;
    block_.index.y = 0;
    ++block_.index.z;
  }
}

void block_runner::run_one(std::uint64_t seed) noexcept {
  const thread_order order = configured_order();
  shuffler random{order.seed + (seed << 20)};
  if (needs_threads(*what_->kernel)) {
    threads_->run(*what_, block_, member_, order.random ? &random : nullptr);
    return;
  }
  std::array<std::uint16_t, block_threads::most> numbers;
  const std::span all{numbers.data(), what_->threads()};
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  random.shuffle(all);
  for (const unsigned thread : all) what_->kernel->run(&block_, what_->arguments, thread, 1);
}

void block_runner::leave(abi::CUresult why) noexcept {
  failure_ = why;
  if (has_threads()) fiber::about_to_jump(threads_->home());
  siglongjmp(landing_, 1);
}

void block_runner::recover() noexcept {
  if (!has_threads()) return;
  fiber::has_jumped(threads_->home());
  threads_->forget();
}

bool block_runner::is_overflow(const void* address) const noexcept {
  constexpr std::ptrdiff_t below = std::ptrdiff_t{1} << 20;  // a frame may be larger than the guard
  const auto* const at = static_cast<const std::byte*>(address);
  if (stack_ends_ != nullptr && at < stack_ends_ + 4096 && at >= stack_ends_ - below) return true;
  return has_threads() && threads_->is_overflow(address);
}

void leave_kernel(abi::CUresult why) noexcept { detail::running->leave(why); }

// What the arguments point to may be the kernel's: a fault there is its own.
void fail_kernel(abi::CUresult why, const char* format, ...) noexcept {
  claim_stack();
  std::array<char, 2048> line;
  std::va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line.data(), line.size() - 1, format, arguments);
  va_end(arguments);
  const std::size_t written =
      std::min(static_cast<std::size_t>(std::max(length, 0)), line.size() - 2);
  line[written] = '\n';
  {
    const block_runner::own_work ours;
    std::fwrite(line.data(), 1, written + 1, stderr);
  }
  leave_kernel(why);
}

// Page by page, as there may be other memory behind the page that ends a stack.
__attribute__((noinline, no_sanitize("address"))) void claim_stack() noexcept {
  constexpr std::size_t page = 4096;
  constexpr std::size_t needed = 4 * page;
  const auto* const here = static_cast<const volatile std::byte*>(__builtin_frame_address(0));
  for (std::size_t below = page; below <= needed; below += page) static_cast<void>(*(here - below));
}

}  // namespace weir::embedded::kernel
