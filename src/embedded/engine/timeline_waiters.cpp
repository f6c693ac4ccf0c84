// engine/timeline_waiters.cpp - the threads and timelines that wait for counts of a timeline, and
// are told.
#include <algorithm>
#include <array>
#include <cstddef>
#include <mutex>

#include "embedded/engine/futex.hpp"
#include "embedded/engine/timeline.hpp"
#include "embedded/engine/waiting.hpp"

namespace weir::embedded::engine {

constinit std::atomic<long> timeline::notices_{0};

bool timeline::add_waiter(const waiter& entry) {
  const std::lock_guard lock{waiters_lock_};
  waiters_.push_back(entry);
  const std::uint64_t before = wake_at_.load(std::memory_order_relaxed);
  // Sequentially consistent with the look that follows, against publish_seq_cst().
  wake_at_.store(std::min(before, entry.count));
  if (completed_.load() < entry.count) return true;
  waiters_.pop_back();
  wake_at_.store(before);
  return false;
}

bool timeline::add_sleeper(sleeper& thread, std::uint64_t count) {
  return add_waiter({count, nullptr, &thread});
}

void timeline::remove_sleeper(sleeper& thread) noexcept {
  const std::lock_guard lock{waiters_lock_};
  std::erase_if(waiters_, [&](const waiter& w) { return w.thread == &thread; });
}

bool timeline::add_notice(detail::engine_callback& notice, std::uint64_t count) {
  notices_.fetch_add(1, std::memory_order_relaxed);
  bool is_added = false;
  try {
    is_added = add_waiter({count, nullptr, nullptr, &notice});
  } catch (...) {
    notices_.fetch_sub(1, std::memory_order_relaxed);
    throw;
  }
  if (!is_added) notices_.fetch_sub(1, std::memory_order_relaxed);
  return is_added;
}

bool timeline::remove_notice(detail::engine_callback& notice) noexcept {
  const std::lock_guard lock{waiters_lock_};
  if (std::erase_if(waiters_, [&](const waiter& w) { return w.notice == &notice; }) == 0)
    return false;
  notices_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

void timeline::wake_waiters() noexcept {
  constexpr std::size_t batch = 16;
  std::array<timeline*, batch> ready;
  std::array<detail::engine_callback*, batch> due_notices;
  for (bool more = true; more;) {
    std::size_t count = 0;
    std::size_t notices = 0;
    more = false;
    {
      const std::lock_guard lock{waiters_lock_};
      const std::uint64_t reached = completed_.load(std::memory_order_relaxed);
      std::uint64_t next = never;
      std::size_t remaining = 0;
      for (const waiter& w : waiters_) {
        const bool fits =
            (w.line == nullptr || count < batch) && (w.notice == nullptr || notices < batch);
        if (w.count > reached || !fits) {
          more = more || w.count <= reached;
          next = std::min(next, w.count);
          waiters_[remaining++] = w;
        } else if (w.line != nullptr) {
          ready[count++] = w.line;
        } else if (w.notice != nullptr) {
          due_notices[notices++] = w.notice;
          notices_.fetch_sub(1, std::memory_order_relaxed);
        } else {
          // Under the lock: a sleeper takes it before it goes, so that the word is still there when
          // it is woken.
          w.thread->woken.store(1, std::memory_order_release);
          futex_wake(w.thread->woken, 1);
        }
      }
      waiters_.resize(remaining);
      wake_at_.store(next);
    }
    for (std::size_t i = 0; i < notices; ++i) due_notices[i]->reached(*due_notices[i]);
    for (std::size_t i = 0; i < count; ++i) ready[i]->unpark();
  }
}

}  // namespace weir::embedded::engine
