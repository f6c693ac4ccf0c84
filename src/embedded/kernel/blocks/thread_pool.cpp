// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/thread_pool.cpp - keeping threads for blocks that run at the same time.
#include "embedded/kernel/blocks/thread_pool.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>

#include "embedded/engine/driver_thread.hpp"
#include "os/futex.hpp"

namespace weir::embedded::kernel {

namespace {

constexpr std::size_t stack_bytes =
    std::size_t{1} << 20;  // kernels that need more are on fibers, which have their own
constexpr unsigned most_idle = 64;

// What is to be done, on the stack of who asks for it.
struct task {
  pool_body body;
  void* argument;
  std::atomic<std::uint32_t> left;  // threads that have not returned yet
};

// A thread of the crew. Freed by itself when it ends.
struct pool_thread {
  std::atomic<std::uint32_t> called{0};
  task* work = nullptr;  // null when it is called: it is not needed any more
  unsigned number = 0;
  pool_thread* next = nullptr;
};

std::mutex mutex;
pool_thread* idle = nullptr;  // this and the next guarded by the mutex
unsigned idle_count = 0;

// False where there are enough.
bool park(pool_thread& me) noexcept {
  const std::lock_guard lock{mutex};
  if (idle_count >= most_idle) return false;
  ++idle_count;
  me.next = idle;
  idle = &me;
  return true;
}

pool_thread* take_idle() noexcept {
  const std::lock_guard lock{mutex};
  pool_thread* const found = idle;
  if (found == nullptr) return nullptr;
  idle = found->next;
  --idle_count;
  return found;
}

void call(pool_thread& one, task* work) noexcept {
  one.work = work;
  one.called.store(1, std::memory_order_release);
  weir::os::futex_wake(one.called, 1);
}

void run_pool_thread(pool_thread& me) noexcept {
  do {
    while (me.called.load(std::memory_order_acquire) == 0) weir::os::futex_wait(me.called, 0);
    me.called.store(0, std::memory_order_relaxed);
    task* const work = me.work;
    if (work == nullptr) break;
    work->body(work->argument, me.number);
    if (work->left.fetch_sub(1, std::memory_order_acq_rel) == 1)
      weir::os::futex_wake(work->left, 1);
  } while (park(me));
  delete &me;
}

// Returns null if there is no memory or no thread.
pool_thread* start() noexcept {
  auto* const made = new (std::nothrow) pool_thread;
  if (made == nullptr) return nullptr;
  const bool started = engine::start_driver_thread(
      "weir-block", [made] { run_pool_thread(*made); }, engine::thread_requirement::optional,
      stack_bytes);
  if (started) return made;
  delete made;
  return nullptr;
}

}  // namespace

bool run_on_thread_pool(unsigned count, pool_body body, void* argument) noexcept {
  // All of them before the first is called: none begins without the others.
  pool_thread* first = nullptr;
  bool all = true;
  for (unsigned number = 0; all && number + 1 < count; ++number) {
    pool_thread* one = take_idle();
    if (one == nullptr) one = start();
    all = one != nullptr;
    if (!all) break;
    one->number = number;
    one->next = first;
    first = one;
  }
  task work{body, argument, count - 1};
  while (first != nullptr) {
    pool_thread* const next = first->next;
    call(*first, all ? &work : nullptr);
    first = next;
  }
  if (!all) return false;
  body(argument, count - 1);
  for (std::uint32_t left = work.left.load(std::memory_order_acquire); left != 0;
       left = work.left.load(std::memory_order_acquire)) {
    weir::os::futex_wait(work.left, left);
  }
  return true;
}

}  // namespace weir::embedded::kernel
