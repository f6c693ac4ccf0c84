// reactor/waiter_list.hpp - waiters in the order in which they are to be told.
#pragma once

#include <weir/detail/completion_waiter.hpp>

namespace weir::detail {

// A chain through the waiters themselves, which nobody else links meanwhile.
class waiter_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  void append(completion_waiter& waiter) noexcept {
    waiter.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &waiter;
    last_ = &waiter;
  }

  // The first of them, taken out; null if there is none.
  [[nodiscard]] completion_waiter* pop() noexcept {
    completion_waiter* const taken = first_;
    if (taken == nullptr) return nullptr;
    first_ = taken->next;
    if (first_ == nullptr) last_ = nullptr;
    return taken;
  }

 private:
  completion_waiter* first_ = nullptr;
  completion_waiter* last_ = nullptr;
};

}  // namespace weir::detail
