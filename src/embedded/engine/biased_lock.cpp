// engine/biased_lock.cpp - giving the right to enter, and taking it away.
#include "embedded/engine/biased_lock.hpp"

#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>

namespace weir::embedded::engine {

namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

// It has to be asked for once, before it is used.
bool have_barrier_in_all_threads() noexcept {
  static const bool have = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return have;
}

}  // namespace

constinit thread_local biased_lock::thread_mark* biased_lock::thread_mark::of_this_thread = nullptr;

// The marks of all threads. One that has ended leaves its mark to another, and with it the rights that it had: who takes the
// mark comes after everything that its last owner did.
class biased_lock::thread_marks {
 public:
  // Null where there is no memory for one.
  static thread_mark* of_this_thread() noexcept {
    thread_mark*& mine = thread_mark::of_this_thread;
    if (mine != nullptr) return mine;
    thread_mark* const mark = take();
    if (mark == nullptr) return nullptr;
    // As in thread_state.cpp: such a key's destructor runs after thread_local objects, and again when one of them came back here.
    static const key at_end;
    if (!at_end.made || pthread_setspecific(at_end.value, mark) != 0) {
      give_back(*mark);
      return nullptr;
    }
    return mine = mark;
  }

 private:
  struct key {
    key() noexcept
        : made{pthread_atfork(nullptr, nullptr, [] { in_child = true; }) == 0 &&
               pthread_key_create(&value, end_of_thread) == 0} {}
    pthread_key_t value{};
    const bool made;
  };
  static constinit bool in_child;  // of a fork, where the lock of the spare ones may be held for ever
  struct spare {
    spin_lock lock;
    thread_mark* first = nullptr;
  };

  static void end_of_thread(void* mark) noexcept {
    thread_mark::of_this_thread = nullptr;
    if (!in_child) give_back(*static_cast<thread_mark*>(mark));
  }

  static spare& spares() noexcept {
    static constinit spare all;
    return all;
  }

  static thread_mark* take() noexcept {
    {
      const std::lock_guard lock{spares().lock};
      if (thread_mark* const mark = spares().first) {
        spares().first = mark->next;
        return mark;
      }
    }
    return new (std::nothrow) thread_mark;
  }

  static void give_back(thread_mark& mark) noexcept {
    const std::lock_guard lock{spares().lock};
    mark.next = spares().first;
    spares().first = &mark;
  }
};

constinit bool biased_lock::thread_marks::in_child = false;

biased_lock::place* biased_lock::enter_slowly() noexcept {
  shared_.lock();
  thread_mark* const user = user_.load(std::memory_order_relaxed);
  if (user != nullptr) {
    take_right_away(*user);
    return nullptr;
  }
  const int rights = rights_left_.load(std::memory_order_relaxed);
  if (rights == 0 || !have_barrier_in_all_threads()) return nullptr;
  thread_mark* const me = thread_marks::of_this_thread();
  place* const here = me != nullptr ? free_place(*me) : nullptr;
  if (here == nullptr) return nullptr;
  rights_left_.store(rights - 1, std::memory_order_relaxed);
  here->store(this, std::memory_order_release);
  user_.store(me, std::memory_order_relaxed);
  shared_.unlock();
  return here;
}

// With the spin lock held, which whoever comes now waits for.
void biased_lock::take_right_away(thread_mark& user) noexcept {
  user_.store(nullptr, std::memory_order_relaxed);
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  const auto is_here = [&](const place& p) { return p.load(std::memory_order_acquire) == this; };
  for (int looks = 0; std::any_of(user.inside.begin(), user.inside.end(), is_here); ++looks) {
    if (looks < 64) {
      pause();
    } else {
      sched_yield();
    }
  }
}

}  // namespace weir::embedded::engine
