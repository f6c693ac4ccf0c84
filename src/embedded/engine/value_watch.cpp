// engine/value_watch.cpp - finding those who wait for a word, by the word; and looking for what nobody tells of.
#include "embedded/engine/value_watch.hpp"

#include <algorithm>
#include <chrono>
#include <limits>
#include <mutex>

#include "embedded/engine/driver_thread.hpp"
#include "embedded/engine/futex.hpp"
#include "embedded/engine/idle_spin.hpp"
#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/written.hpp"

namespace weir::embedded::engine {

void tell_of(const void* at, std::size_t bytes) noexcept { value_watch::instance().look_at(at, bytes); }

bool tell_of_all() noexcept { return value_watch::instance().look_at_all(); }

value_watch& value_watch::instance() noexcept {
  static constinit value_watch instance;
  return instance;
}

bool value_watch::add(timeline& line) noexcept {
  bucket& in = buckets_[reinterpret_cast<std::uintptr_t>(line.watched_word()) / line_bytes % buckets_.size()];
  {
    const std::lock_guard lock{in.lock};
    waiting_for_values.fetch_add(1, std::memory_order_relaxed);
    timeline* const others = in.first.load(std::memory_order_relaxed);
    line.next_watching = others;
    in.first.store(&line, std::memory_order_relaxed);
    // Either this look sees what was written, or the one who writes sees the line (written_for_waiters).
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (line.value_arrived()) {
      in.first.store(others, std::memory_order_relaxed);
      waiting_for_values.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
  }
  if (scheduler::instance().stepping()) return true;
  if (!news_.load(std::memory_order_relaxed)) news_.store(true);
  if (!thread_started_.load(std::memory_order_relaxed) && !thread_started_.exchange(true)) {
    start_driver_thread("weir-values", [this] { keep_looking(); });
  } else if (sleeps_.load() != 0 && sleeps_.exchange(0) != 0) {
    futex_wake(sleeps_, 1);
  }
  return true;
}

void value_watch::look_at(const void* at, std::size_t bytes) noexcept {
  const auto from = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t first = from / line_bytes;
  const std::uintptr_t lines = (from + bytes - 1) / line_bytes - first + 1;
  for (std::uintptr_t i = 0; i < std::min<std::uintptr_t>(lines, buckets_.size()); ++i) {
    look_into(buckets_[(first + i) % buckets_.size()], from, bytes);
  }
}

bool value_watch::look_at_all() noexcept {
  bool some = false;
  for (bucket& in : buckets_) some |= look_into(in, 0, std::numeric_limits<std::size_t>::max());
  return some;
}

bool value_watch::look_into(bucket& in, std::uintptr_t from, std::size_t bytes) noexcept {
  if (in.first.load(std::memory_order_relaxed) == nullptr) return false;
  timeline* ready = nullptr;
  std::uint32_t count = 0;
  {
    const std::lock_guard lock{in.lock};
    timeline* before = nullptr;
    for (timeline* line = in.first.load(std::memory_order_relaxed); line != nullptr;) {
      timeline* const next = line->next_watching;
      if (reinterpret_cast<std::uintptr_t>(line->watched_word()) - from < bytes && line->value_arrived()) {
        if (before == nullptr) {
          in.first.store(next, std::memory_order_relaxed);
        } else {
          before->next_watching = next;
        }
        line->next_watching = ready;
        ready = line;
        ++count;
      } else {
        before = line;
      }
      line = next;
    }
  }
  if (count == 0) return false;
  waiting_for_values.fetch_sub(count, std::memory_order_relaxed);
  // Without the lock: this may start a worker. The list was the newest first; so those who have waited longest go on first.
  while (ready != nullptr) {
    timeline& line = *ready;
    ready = line.next_watching;
    line.unpark();
  }
  return true;
}

// Sleeps. True if it was woken because somebody new waits.
bool value_watch::nap(std::uint32_t& microseconds) noexcept {
  constexpr std::uint32_t light = 80;  // a sleep so short that nobody need end it
  constexpr std::uint32_t longest = 1000;
  const std::chrono::microseconds length{microseconds};
  const bool deep = microseconds == longest && waiting_for_values.load() == 0;
  microseconds = std::min(2 * microseconds, longest);
  if (length.count() <= light) {
    futex_wait_for(sleeps_, 0, length);
    return false;
  }
  sleeps_.store(1);
  if (!news_.load()) {
    if (deep) {
      futex_wait(sleeps_, 1);
    } else {
      futex_wait_for(sleeps_, 1, length);
    }
  }
  return sleeps_.exchange(0) == 0;
}

void value_watch::keep_looking() noexcept {
  constexpr std::uint32_t shortest = 20;
  std::uint32_t microseconds = shortest;
  idle_spin closely;
  for (;;) {
    const bool news = news_.exchange(false);
    const bool found = look_at_all();
    if (found) closely.reset();  // where the host writes one value, it soon writes another
    if (news || found) microseconds = shortest;
    if (closely.once_more()) continue;
    if (nap(microseconds)) closely.reset();
  }
}

}  // namespace weir::embedded::engine
