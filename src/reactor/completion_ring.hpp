// SPDX-License-Identifier: Apache-2.0
// reactor/completion_ring.hpp - the pending points of a stream by ticket.
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

  // Reserves room for the next push(). A shrink() before that push() may free the room. Throws
  // std::bad_alloc.
  void reserve_one() {
    if (size() == capacity_) resize(capacity_ == 0 ? min_capacity : 2 * capacity_);
  }

  // Adds a point and returns its ticket. Call reserve_one() first.
  std::uint64_t push(std::uint64_t value) noexcept {
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
    if (!empty() || capacity_ <= max_kept_capacity) return false;
    points_.reset();
    capacity_ = 0;
    return true;
  }

  static constexpr std::uint64_t min_capacity = 64;
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
};

}  // namespace weir::detail
