// api/deferred/task_queue.hpp - chores in order, and those that any thread leaves.
#pragma once

#include <weir/core/deferred.hpp>

#include <atomic>

namespace weir::detail {

// A chain of chores in order.
struct task_list {
  deferred_task* first = nullptr;
  deferred_task* last = nullptr;

  void append(deferred_task& task) noexcept {
    task.next = nullptr;
    (last != nullptr ? last->next : first) = &task;
    last = &task;
  }
};

// What any thread may leave without a lock.
class task_queue {
 public:
  // Was it empty?
  bool push(deferred_task& task) noexcept {
    deferred_task* head = head_.load(std::memory_order_relaxed);
    do {
      task.next = head;
    } while (!head_.compare_exchange_weak(head, &task, std::memory_order_release,
                                          std::memory_order_relaxed));
    return head == nullptr;
  }

  [[nodiscard]] bool empty() const noexcept {
    return head_.load(std::memory_order_relaxed) == nullptr;
  }

  // All of them, the oldest first.
  [[nodiscard]] deferred_task* take_all() noexcept {
    deferred_task* reversed = nullptr;
    for (deferred_task* taken = head_.exchange(nullptr, std::memory_order_acquire);
         taken != nullptr;) {
      deferred_task* const next = taken->next;
      taken->next = reversed;
      reversed = taken;
      taken = next;
    }
    return reversed;
  }

 private:
  std::atomic<deferred_task*> head_{nullptr};
};

}  // namespace weir::detail
