// SPDX-License-Identifier: Apache-2.0
// embedded/engine/parallel_task.cpp - publishes tasks, and waits for the workers that joined.
#include "embedded/engine/parallel_task.hpp"

#include <mutex>

#include "os/futex.hpp"

namespace weir::embedded::engine {

void parallel_task_list::add(parallel_task& work) noexcept {
  for (slot& published_slot : slots_) {
    parallel_task* expected = nullptr;
    if (!published_slot.work.compare_exchange_strong(expected, &work)) continue;
    published_.fetch_add(1);
    return;
  }
}

void parallel_task_list::remove(parallel_task& work) noexcept {
  for (slot& published_slot : slots_) {
    if (published_slot.work.load(std::memory_order_relaxed) != &work) continue;
    published_.fetch_sub(1);
    const std::lock_guard lock{published_slot.lock};  // no worker is entering
    published_slot.work.store(nullptr, std::memory_order_relaxed);
    break;
  }
  constexpr int max_spins = 2000;
  int spins = 0;
  for (std::uint32_t participants = work.participants_.load(std::memory_order_acquire);
       participants != 0; participants = work.participants_.load(std::memory_order_acquire)) {
    if (++spins < max_spins) {
      os::pause();
    } else {
      os::futex_wait(work.participants_, participants);
    }
  }
}

bool parallel_task_list::has_open() noexcept {
  if (published_.load() == 0) return false;
  for (slot& published_slot : slots_) {
    const std::lock_guard lock{published_slot.lock};
    const parallel_task* const task = published_slot.work.load(std::memory_order_acquire);
    if (task != nullptr && task->open_.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

parallel_task* parallel_task_list::enter() noexcept {
  if (published_.load(std::memory_order_relaxed) == 0) return nullptr;
  for (slot& published_slot : slots_) {
    if (published_slot.work.load(std::memory_order_relaxed) == nullptr) continue;
    const std::lock_guard lock{published_slot.lock};
    parallel_task* const task = published_slot.work.load(std::memory_order_acquire);
    if (task == nullptr || !task->open_.load(std::memory_order_relaxed)) continue;
    task->participants_.fetch_add(1, std::memory_order_relaxed);
    return task;
  }
  return nullptr;
}

// The task may be destroyed as soon as the counter is 0. futex_wake() then uses only the address of
// the counter.
void parallel_task_list::leave(parallel_task& work) noexcept {
  std::atomic<std::uint32_t>& participants = work.participants_;
  if (participants.fetch_sub(1, std::memory_order_acq_rel) == 1) os::futex_wake(participants, 1);
}

}  // namespace weir::embedded::engine
