// SPDX-License-Identifier: Apache-2.0
// reactor/linked_queue.hpp - a queue of objects that are linked through their members `next`.
#pragma once

#include <weir/detail/completion_waiter.hpp>

namespace weir::detail {

// A first-in, first-out queue. It owns nothing and allocates nothing. An object is in at most one
// queue.
template <class T>
class linked_queue {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  void append(T& added) noexcept {
    added.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &added;
    last_ = &added;
  }

  // Removes and returns the first object; null if the queue is empty.
  [[nodiscard]] T* pop() noexcept {
    T* const removed = first_;
    if (removed == nullptr) return nullptr;
    first_ = removed->next;
    if (first_ == nullptr) last_ = nullptr;
    return removed;
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

// Waiters that are to be notified.
using waiter_list = linked_queue<completion_waiter>;

}  // namespace weir::detail
