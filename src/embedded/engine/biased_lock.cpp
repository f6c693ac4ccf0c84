// SPDX-License-Identifier: Apache-2.0
// embedded/engine/biased_lock.cpp - assigns and revokes the bias.
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

// Registers the process for membarrier, which must happen once before its use.
bool has_process_barrier() noexcept {
  static const bool is_registered = membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0;
  return is_registered;
}

}  // namespace

constinit thread_local biased_lock::thread_record* biased_lock::thread_record::of_this_thread =
    nullptr;

// The records of all threads. When a thread exits, another thread may reuse its record and its
// biases. Everything that the previous owner did happens before the new owner uses the record.
class biased_lock::thread_records {
 public:
  // Returns null if there is no memory.
  static thread_record* of_this_thread() noexcept {
    thread_record*& current = thread_record::of_this_thread;
    if (current != nullptr) return current;
    thread_record* const record = acquire_record();
    if (record == nullptr) return nullptr;
    // As in thread_state.cpp: the destructor of a pthread key runs after thread_local objects are
    // destroyed. It runs again if another destructor has used this function since.
    static const key exit_key;
    if (!exit_key.is_created || pthread_setspecific(exit_key.value, record) != 0) {
      recycle_record(*record);
      return nullptr;
    }
    return current = record;
  }

 private:
  struct key {
    key() noexcept
        : is_created{pthread_atfork(nullptr, nullptr, [] { in_forked_child = true; }) == 0 &&
                     pthread_key_create(&value, on_thread_exit) == 0} {}
    pthread_key_t value{};
    const bool is_created;
  };
  static constinit bool
      in_forked_child;  // after fork() the lock of the spare records may never be released
  struct spare_records {
    os::spin_lock lock;
    thread_record* first = nullptr;
  };

  static void on_thread_exit(void* record) noexcept {
    thread_record::of_this_thread = nullptr;
    if (!in_forked_child) recycle_record(*static_cast<thread_record*>(record));
  }

  static spare_records& spare_list() noexcept {
    static constinit spare_records instance;
    return instance;
  }

  static thread_record* acquire_record() noexcept {
    {
      const std::lock_guard lock{spare_list().lock};
      if (thread_record* const record = spare_list().first) {
        spare_list().first = record->next;
        return record;
      }
    }
    return new (std::nothrow) thread_record;
  }

  static void recycle_record(thread_record& record) noexcept {
    const std::lock_guard lock{spare_list().lock};
    record.next = spare_list().first;
    spare_list().first = &record;
  }
};

constinit bool biased_lock::thread_records::in_forked_child = false;

biased_lock::slot* biased_lock::enter_slow() noexcept {
  spin_lock_.lock();
  thread_record* const owner = bias_owner_.load(std::memory_order_relaxed);
  if (owner != nullptr) {
    revoke_bias(*owner);
    return nullptr;
  }
  const int biases_left = biases_left_.load(std::memory_order_relaxed);
  if (biases_left == 0 || !has_process_barrier()) return nullptr;
  thread_record* const self = thread_records::of_this_thread();
  slot* const own_slot = self != nullptr ? free_slot(*self) : nullptr;
  if (own_slot == nullptr) return nullptr;
  biases_left_.store(biases_left - 1, std::memory_order_relaxed);
  own_slot->store(this, std::memory_order_release);
  bias_owner_.store(self, std::memory_order_relaxed);
  spin_lock_.unlock();
  return own_slot;
}

void biased_lock::revoke_bias(thread_record& owner) noexcept {
  bias_owner_.store(nullptr, std::memory_order_relaxed);
  membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  const auto is_inside = [&](const slot& section_slot) {
    return section_slot.load(std::memory_order_acquire) == this;
  };
  for (int polls = 0; std::any_of(owner.sections.begin(), owner.sections.end(), is_inside);
       ++polls) {
    if (polls < 64) {
      os::pause();
    } else {
      sched_yield();
    }
  }
}

}  // namespace weir::embedded::engine
