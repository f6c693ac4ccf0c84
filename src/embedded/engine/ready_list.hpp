// engine/ready_list.hpp - first-in first-out lists of timelines, linked through the timelines
// themselves.
#pragma once

#include <atomic>
#include <mutex>
#include <utility>

#include "embedded/engine/spin_lock.hpp"
#include "embedded/engine/timeline.hpp"

namespace weir::embedded::engine {

// Whoever adds takes no lock. A timeline is in such a list at most once at a time.
//
// Thread safety: all members, from any thread.
template <timeline* timeline::*Next>
class timeline_list {
 public:
  void push(timeline& line) noexcept {
    timeline* last = pushed_.load(std::memory_order_relaxed);
    do {
      line.*Next = last;
    } while (!pushed_.compare_exchange_weak(last, &line));
  }

  // The one that was added first; null where there is none, or another thread is just about to take
  // it.
  [[nodiscard]] timeline* pop() noexcept {
    if (empty()) return nullptr;
    const std::lock_guard lock{pop_lock_};
    timeline* line = first_.load(std::memory_order_relaxed);
    if (line == nullptr) line = reverse(pushed_.exchange(nullptr));
    if (line != nullptr) first_.store(line->*Next);
    return line;
  }

  // Sequentially consistent, against those who add and then look who is awake (worker_parking.hpp).
  // Entries that another thread takes over just now count as its own: it looks again when it has
  // taken one.
  [[nodiscard]] bool empty() const noexcept {
    return first_.load() == nullptr && pushed_.load() == nullptr;
  }

 private:
  static timeline* reverse(timeline* last) noexcept {
    timeline* first = nullptr;
    while (last != nullptr) {
      timeline* const before = std::exchange(last->*Next, first);
      first = std::exchange(last, before);
    }
    return first;
  }

  std::atomic<timeline*> pushed_{nullptr};  // the last one first
  alignas(64) spin_lock pop_lock_;
  std::atomic<timeline*> first_{nullptr};
};

using ready_list = timeline_list<&timeline::next_ready>;
using host_list = timeline_list<&timeline::next_host>;

}  // namespace weir::embedded::engine
