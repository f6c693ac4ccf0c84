// SPDX-License-Identifier: Apache-2.0
// embedded/engine/parallel_task.cpp - publishes tasks, and waits for the workers that joined.
#include "embedded/engine/parallel_task.hpp"

#include <mutex>

#include "os/futex.hpp"

namespace weir::embedded::engine {

void parallel_task_list::add(parallel_task& work) noexcept {
  for (slot& p : slots_) {
    parallel_task* expected = nullptr;
    if (!p.work.compare_exchange_strong(expected, &work)) continue;
    published_.fetch_add(1);
    return;
  }
}

void parallel_task_list::remove(parallel_task& work) noexcept {
  for (slot& p : slots_) {
    if (p.work.load(std::memory_order_relaxed) != &work) continue;
    published_.fetch_sub(1);
    const std::lock_guard lock{p.lock};  // no worker is entering
    p.work.store(nullptr, std::memory_order_relaxed);
    break;
  }
  constexpr int max_spins = 2000;
  int spins = 0;
  for (std::uint32_t participants = work.participants_.load(std::memory_order_acquire);
       participants != 0; participants = work.participants_.load(std::memory_order_acquire)) {
    if (++spins < max_spins) {
      detail::pause();
    } else {
      detail::futex_wait(work.participants_, participants);
    }
  }
}

bool parallel_task_list::has_open() noexcept {
  if (published_.load() == 0) return false;
  for (slot& p : slots_) {
    const std::lock_guard lock{p.lock};
    const parallel_task* const found = p.work.load(std::memory_order_acquire);
    if (found != nullptr && found->open_.load(std::memory_order_relaxed)) return true;
  }
  return false;
}

parallel_task* parallel_task_list::enter() noexcept {
  if (published_.load(std::memory_order_relaxed) == 0) return nullptr;
  for (slot& p : slots_) {
    if (p.work.load(std::memory_order_relaxed) == nullptr) continue;
    const std::lock_guard lock{p.lock};
    parallel_task* const found = p.work.load(std::memory_order_acquire);
    if (found == nullptr || !found->open_.load(std::memory_order_relaxed)) continue;
    found->participants_.fetch_add(1, std::memory_order_relaxed);
    return found;
  }
  return nullptr;
}

// After this the task may be destroyed. Only the address of the counter is used, as the key of the
// futex.
void parallel_task_list::leave(parallel_task& work) noexcept {
  std::atomic<std::uint32_t>& participants = work.participants_;
  if (participants.fetch_sub(1, std::memory_order_acq_rel) == 1)
    detail::futex_wake(participants, 1);
}

}  // namespace weir::embedded::engine
