// SPDX-License-Identifier: Apache-2.0
// reactor/timer_queue.cpp - the deadlines of waits, earliest first.
#include "reactor/timer_queue.hpp"

#include <mutex>

namespace weir::detail {

bool timer_queue::add(wait_timer& timer, long long deadline) {
  const std::lock_guard hold{lock_};
  timer.deadline = deadline;
  heap_.push_back(&timer);
  place_at(heap_.size() - 1, timer);
  sift_up(heap_.size() - 1);
  earliest_.store(heap_.front()->deadline, std::memory_order_release);
  return heap_.front() == &timer;
}

bool timer_queue::remove(wait_timer& timer) noexcept {
  const std::lock_guard hold{lock_};
  if (timer.heap_index == wait_timer::not_queued) return false;
  remove_at(timer.heap_index);
  return true;
}

wait_timer* timer_queue::pop_expired(long long now) noexcept {
  if (earliest() > now) return nullptr;
  const std::lock_guard hold{lock_};
  if (heap_.empty() || heap_.front()->deadline > now) return nullptr;
  wait_timer* const expired = heap_.front();
  remove_at(0);
  return expired;
}

void timer_queue::remove_at(std::size_t index) noexcept {
  heap_[index]->heap_index = wait_timer::not_queued;
  wait_timer* const last = heap_.back();
  heap_.pop_back();
  if (index < heap_.size()) {
    place_at(index, *last);
    sift_up(index);
    sift_down(last->heap_index);
  }
  earliest_.store(heap_.empty() ? never : heap_.front()->deadline, std::memory_order_release);
}

void timer_queue::place_at(std::size_t index, wait_timer& timer) noexcept {
  heap_[index] = &timer;
  timer.heap_index = index;
}

void timer_queue::sift_up(std::size_t index) noexcept {
  wait_timer& moved = *heap_[index];
  while (index != 0) {
    const std::size_t parent = (index - 1) / 2;
    if (heap_[parent]->deadline <= moved.deadline) break;
    place_at(index, *heap_[parent]);
    index = parent;
  }
  place_at(index, moved);
}

void timer_queue::sift_down(std::size_t index) noexcept {
  wait_timer& moved = *heap_[index];
  for (;;) {
    std::size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1]->deadline < heap_[child]->deadline) ++child;
    if (moved.deadline <= heap_[child]->deadline) break;
    place_at(index, *heap_[child]);
    index = child;
  }
  place_at(index, moved);
}

}  // namespace weir::detail
