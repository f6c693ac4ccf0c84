// api/deferred/chore_queue.hpp - chores in order, and those that any thread leaves.
#pragma once

#include <weir/core/deferred.hpp>

#include <atomic>

namespace weir::detail {

// A chain of chores in order.
struct chore_list {
  chore* first = nullptr;
  chore* last = nullptr;

  void append(chore& what) noexcept {
    what.next = nullptr;
    (last != nullptr ? last->next : first) = &what;
    last = &what;
  }
};

// What any thread may leave without a lock.
class chore_queue {
 public:
  // Was it empty?
  bool push(chore& what) noexcept {
    chore* head = newest_.load(std::memory_order_relaxed);
    do {
      what.next = head;
    } while (!newest_.compare_exchange_weak(head, &what, std::memory_order_release, std::memory_order_relaxed));
    return head == nullptr;
  }

  [[nodiscard]] bool empty() const noexcept { return newest_.load(std::memory_order_relaxed) == nullptr; }

  // All of them, the oldest first.
  [[nodiscard]] chore* take_all() noexcept {
    chore* turned = nullptr;
    for (chore* taken = newest_.exchange(nullptr, std::memory_order_acquire); taken != nullptr;) {
      chore* const next = taken->next;
      taken->next = turned;
      turned = taken;
      taken = next;
    }
    return turned;
  }

 private:
  std::atomic<chore*> newest_{nullptr};
};

}  // namespace weir::detail
