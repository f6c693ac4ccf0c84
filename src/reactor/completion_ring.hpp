// SPDX-License-Identifier: Apache-2.0
// reactor/completion_ring.hpp - the pending points of a stream by ticket, and lists of their
// waiters.
#pragma once

#include <weir/detail/completion_waiter.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace weir::detail {

// A pending point (a position in a stream's work) and the list of its waiters (null: none). The
// point is complete when the event with the handle `value` is; on the embedded driver, when `value`
// operations of the stream's timeline are complete.
struct pending_point {
  std::uint64_t value = 0;
  completion_waiter* first_waiter = nullptr;
};

// A ring buffer of points with consecutive tickets. A ticket is a point's number in the queue. The
// buffer grows on demand; a point takes 16 bytes and is found without a search.
//
// Thread safety: none; guarded by the queue's lock.
class completion_ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }  // the oldest ticket
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }  // the ticket of the next point
  [[nodiscard]] std::uint64_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool contains(std::uint64_t ticket) const noexcept {
    return ticket - begin_ < size();
  }

  // `ticket` must be in the ring.
  [[nodiscard]] pending_point& operator[](std::uint64_t ticket) noexcept {
    return points_[ticket & (capacity_ - 1)];
  }

  // Reserves room for the next push(). A shrink() before that push() does not free the room. Throws
  // std::bad_alloc.
  void reserve_one() {
    if (size() == capacity_) resize(capacity_ == 0 ? 16 : 2 * capacity_);
    is_reserved_ = true;
  }

  // Adds a point and returns its ticket. Call reserve_one() first.
  std::uint64_t push(std::uint64_t value) noexcept {
    is_reserved_ = false;
    (*this)[end_] = {value, nullptr};
    return end_++;
  }

  // Returns the next ticket without adding a point. The ring must be empty.
  std::uint64_t skip_ticket() noexcept {
    begin_ = ++end_;
    return begin_ - 1;
  }

  // Removes the points up to and including `ticket`.
  void pop_through(std::uint64_t ticket) noexcept { begin_ = ticket + 1; }

  // Frees the memory if the ring is empty and has room for more than max_kept_capacity points.
  // Returns true if memory was freed.
  bool shrink() noexcept {
    if (!empty() || capacity_ <= max_kept_capacity || is_reserved_) return false;
    points_.reset();
    capacity_ = 0;
    return true;
  }

  static constexpr std::uint64_t max_kept_capacity = 4096;

 private:
  void resize(std::uint64_t capacity) {
    auto wider = std::make_unique<pending_point[]>(capacity);
    for (std::uint64_t ticket = begin_; ticket != end_; ++ticket)
      wider[ticket & (capacity - 1)] = (*this)[ticket];
    points_ = std::move(wider);
    capacity_ = capacity;
  }

  std::unique_ptr<pending_point[]> points_;
  std::uint64_t capacity_ = 0;  // a power of two
  std::uint64_t begin_ = 1;     // ticket 0 is complete from the beginning
  std::uint64_t end_ = 1;
  bool is_reserved_ = false;  // reserve_one() was called, and push() was not yet
};

// A queue of waiters to be notified, linked through completion_waiter::next. A waiter is in at most
// one list.
class waiter_list {
 public:
  [[nodiscard]] bool empty() const noexcept { return first_ == nullptr; }

  void append(completion_waiter& waiter) noexcept {
    waiter.next = nullptr;
    (last_ != nullptr ? last_->next : first_) = &waiter;
    last_ = &waiter;
  }

  // Removes and returns the first waiter; null if the list is empty.
  [[nodiscard]] completion_waiter* pop() noexcept {
    completion_waiter* const removed = first_;
    if (removed == nullptr) return nullptr;
    first_ = removed->next;
    if (first_ == nullptr) last_ = nullptr;
    return removed;
  }

 private:
  completion_waiter* first_ = nullptr;
  completion_waiter* last_ = nullptr;
};

}  // namespace weir::detail
