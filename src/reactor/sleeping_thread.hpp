// reactor/sleeping_thread.hpp - threads that sleep until they are told, and are woken where nobody
// is left to tell them.
#pragma once

#include "os/forked_child.hpp"
#include "os/futex.hpp"
#include "os/spin_lock.hpp"

#include <atomic>
#include <cstdint>
#include <mutex>

namespace weir::detail {

// For as long as the calling thread may sleep on that word. The reactors' threads end while statics
// are destroyed, and a destructor may join a thread that sleeps: 2 is added to its word then, and
// it goes on by itself. A forked child, where the list may be in the middle of a change and has
// threads that are not there, takes no part.
class sleeping_thread {
 public:
  explicit sleeping_thread(std::atomic<std::uint32_t>& word) noexcept
      : word_{word}, listed_{!in_forked_child()} {
    if (!listed_) return;
    const std::lock_guard hold{lock};
    next_ = newest;
    if (next_ != nullptr) next_->previous_ = this;
    newest = this;
  }
  sleeping_thread(const sleeping_thread&) = delete;
  sleeping_thread& operator=(const sleeping_thread&) = delete;
  ~sleeping_thread() {
    if (!listed_) return;
    const std::lock_guard hold{lock};
    (previous_ != nullptr ? previous_->next_ : newest) = next_;
    if (next_ != nullptr) next_->previous_ = previous_;
  }

  // Whoever falls asleep later has to see for himself that he should not.
  static void wake_all() noexcept {
    const std::lock_guard hold{lock};
    for (const sleeping_thread* one = newest; one != nullptr; one = one->next_) {
      one->word_.fetch_add(2);
      futex_wake(one->word_, 1);
    }
  }

 private:
  static inline constinit spin_lock lock;
  static inline constinit sleeping_thread* newest = nullptr;  // under the lock, as what follows

  std::atomic<std::uint32_t>& word_;
  const bool listed_;
  sleeping_thread* next_ = nullptr;
  sleeping_thread* previous_ = nullptr;
};

}  // namespace weir::detail
