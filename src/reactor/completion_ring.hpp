// reactor/completion_ring.hpp - the points of a stream that are not settled, by their numbers.
#pragma once

#include <weir/detail/completion_waiter.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace weir::detail {

// A point: an event's handle, or a count of the engine's; and who waits for it.
struct pending_point {
  std::uint64_t value = 0;
  completion_waiter* first_waiter = nullptr;
};

// Consecutive tickets in a circle that grows: 16 bytes a point, found without a search.
class completion_ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }  // the oldest ticket
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }      // the next one to be given
  [[nodiscard]] std::uint64_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool contains(std::uint64_t ticket) const noexcept {
    return ticket - begin_ < size();
  }

  [[nodiscard]] pending_point& operator[](std::uint64_t ticket) noexcept {
    return points_[ticket & (capacity_ - 1)];
  }

  // Sees to it that the next push needs no memory, whatever is taken away before it. Throws
  // std::bad_alloc.
  void reserve_one() {
    if (size() == capacity_) resize(capacity_ == 0 ? 16 : 2 * capacity_);
    is_reserved_ = true;
  }

  std::uint64_t push(std::uint64_t value) noexcept {
    is_reserved_ = false;
    (*this)[end_] = {value, nullptr};
    return end_++;
  }

  // Passes over a ticket, of an empty ring, and gives it.
  std::uint64_t skip_ticket() noexcept {
    begin_ = ++end_;
    return begin_ - 1;
  }

  void pop_through(std::uint64_t ticket) noexcept { begin_ = ticket + 1; }

  // Gives back what a burst has taken, once it is over. True if that is now.
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
  std::uint64_t begin_ = 1;     // ticket 0 is settled from the beginning
  std::uint64_t end_ = 1;
  bool is_reserved_ = false;
};

}  // namespace weir::detail
