// SPDX-License-Identifier: Apache-2.0
// api/deferred/task_queue.hpp - a list and a lock-free queue of deferred tasks.
#pragma once

#include <weir/core/deferred.hpp>

#include <atomic>
#include <utility>

namespace weir::detail {

// A linked list of tasks in order.
struct task_list {
  deferred_task* first = nullptr;
  deferred_task* last = nullptr;  // valid unless the list is empty

  [[nodiscard]] bool empty() const noexcept { return first == nullptr; }
  void append(deferred_task& task) noexcept {
    task.next = nullptr;
    append({&task, &task});
  }
  void append(task_list tasks) noexcept {
    if (tasks.empty()) return;
    (empty() ? first : last->next) = tasks.first;
    last = tasks.last;
  }
  // Removes and returns the first task. The list must not be empty.
  deferred_task& pop() noexcept { return *std::exchange(first, first->next); }
};

// A lock-free queue that any thread may push to.
class task_queue {
 public:
  // Adds a task. Returns true if the queue was empty before.
  bool push(deferred_task& task) noexcept {
    deferred_task* newest = newest_.load(std::memory_order_relaxed);
    do {
      task.next = newest;
    } while (!newest_.compare_exchange_weak(newest, &task, std::memory_order_release,
                                            std::memory_order_relaxed));
    return newest == nullptr;
  }

  [[nodiscard]] bool empty() const noexcept {
    return newest_.load(std::memory_order_relaxed) == nullptr;
  }

  // Removes and returns all tasks, the oldest first.
  [[nodiscard]] task_list take_all() noexcept {
    task_list reversed;
    deferred_task* current = newest_.exchange(nullptr, std::memory_order_acquire);
    reversed.last = current;
    while (current != nullptr)
      reversed.first = std::exchange(current, std::exchange(current->next, reversed.first));
    return reversed;
  }

 private:
  std::atomic<deferred_task*> newest_{nullptr};  // linked from newest to oldest
};

}  // namespace weir::detail
