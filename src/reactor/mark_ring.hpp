// reactor/mark_ring.hpp - the points of a stream that are not settled, by their numbers.
#pragma once

#include <weir/detail/completion_waiter.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace weir::detail {

// A point: an event's handle, or a count of the engine's; and who waits for it.
struct marked_point {
  std::uint64_t what = 0;
  completion_waiter* first = nullptr;
};

// Consecutive tickets in a circle that grows: 16 bytes a point, found without a search.
class mark_ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  [[nodiscard]] std::uint64_t begin() const noexcept { return begin_; }  // the oldest ticket
  [[nodiscard]] std::uint64_t end() const noexcept { return end_; }      // the next one to be given
  [[nodiscard]] std::uint64_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] bool holds(std::uint64_t ticket) const noexcept { return ticket - begin_ < size(); }

  [[nodiscard]] marked_point& operator[](std::uint64_t ticket) noexcept { return marks_[ticket & (capacity_ - 1)]; }

  // Sees to it that the next push needs no memory, whatever is taken away before it. Throws std::bad_alloc.
  void make_room() {
    if (size() == capacity_) resize(capacity_ == 0 ? 16 : 2 * capacity_);
    room_is_promised_ = true;
  }

  std::uint64_t push(std::uint64_t what) noexcept {
    room_is_promised_ = false;
    (*this)[end_] = {what, nullptr};
    return end_++;
  }

  // Passes over a ticket, of an empty ring, and gives it.
  std::uint64_t skip() noexcept {
    begin_ = ++end_;
    return begin_ - 1;
  }

  void pop_through(std::uint64_t ticket) noexcept { begin_ = ticket + 1; }

  // Gives back what a burst has taken, once it is over. True if that is now.
  bool shrink() noexcept {
    if (!empty() || capacity_ <= most_kept || room_is_promised_) return false;
    marks_.reset();
    capacity_ = 0;
    return true;
  }

  static constexpr std::uint64_t most_kept = 4096;

 private:
  void resize(std::uint64_t capacity) {
    auto wider = std::make_unique<marked_point[]>(capacity);
    for (std::uint64_t ticket = begin_; ticket != end_; ++ticket) wider[ticket & (capacity - 1)] = (*this)[ticket];
    marks_ = std::move(wider);
    capacity_ = capacity;
  }

  std::unique_ptr<marked_point[]> marks_;
  std::uint64_t capacity_ = 0;  // a power of two
  std::uint64_t begin_ = 1;     // ticket 0 is settled from the beginning
  std::uint64_t end_ = 1;
  bool room_is_promised_ = false;
};

}  // namespace weir::detail
