// reactor/timer_queue.cpp - deadlines of waits.
#include "reactor/timer_queue.hpp"

#include <mutex>

namespace weir::detail {

bool timer_queue::add(wait_timer& timer, long long deadline) {
  const std::lock_guard hold{lock_};
  timer.deadline = deadline;
  heap_.push_back(&timer);
  put(heap_.size() - 1, timer);
  sift_up(heap_.size() - 1);
  earliest_.store(heap_.front()->deadline, std::memory_order_release);
  return heap_.front() == &timer;
}

bool timer_queue::remove(wait_timer& timer) noexcept {
  const std::lock_guard hold{lock_};
  if (timer.place == wait_timer::nowhere) return false;
  take_out(timer.place);
  return true;
}

wait_timer* timer_queue::take_expired(long long now) noexcept {
  if (earliest() > now) return nullptr;
  const std::lock_guard hold{lock_};
  if (heap_.empty() || heap_.front()->deadline > now) return nullptr;
  wait_timer* const expired = heap_.front();
  take_out(0);
  return expired;
}

void timer_queue::take_out(std::size_t place) noexcept {
  heap_[place]->place = wait_timer::nowhere;
  wait_timer* const last = heap_.back();
  heap_.pop_back();
  if (place < heap_.size()) {
    put(place, *last);
    sift_up(place);
    sift_down(last->place);
  }
  earliest_.store(heap_.empty() ? never : heap_.front()->deadline, std::memory_order_release);
}

void timer_queue::put(std::size_t place, wait_timer& timer) noexcept {
  heap_[place] = &timer;
  timer.place = place;
}

void timer_queue::sift_up(std::size_t place) noexcept {
  wait_timer& moved = *heap_[place];
  while (place != 0) {
    const std::size_t above = (place - 1) / 2;
    if (heap_[above]->deadline <= moved.deadline) break;
    put(place, *heap_[above]);
    place = above;
  }
  put(place, moved);
}

void timer_queue::sift_down(std::size_t place) noexcept {
  wait_timer& moved = *heap_[place];
  for (;;) {
    std::size_t below = 2 * place + 1;
    if (below >= heap_.size()) break;
    if (below + 1 < heap_.size() && heap_[below + 1]->deadline < heap_[below]->deadline) ++below;
    if (moved.deadline <= heap_[below]->deadline) break;
    put(place, *heap_[below]);
    place = below;
  }
  put(place, moved);
}

}  // namespace weir::detail
