// SPDX-License-Identifier: Apache-2.0
// embedded/engine/operation_queue.cpp - chunks of operations, and the pool that recycles them.
#include "embedded/engine/operation_queue.hpp"

#include "os/spin_lock.hpp"

#include <mutex>
#include <type_traits>

namespace weir::embedded::engine {

struct operation_queue::chunk {
  static constexpr int capacity = 63;  // 4 KiB with the link

  std::atomic<chunk*> next{nullptr};
  operation operations[capacity];
};

// Drained chunks of all queues. The pool never shrinks: it keeps as many chunks as the longest
// backlog of the process needed.
class operation_queue::chunk_pool {
 public:
  chunk* acquire_chunk() {
    {
      const std::lock_guard lock{lock_};
      if (chunk* reused = free_) {
        free_ = reused->next.load(std::memory_order_relaxed);
        reused->next.store(nullptr, std::memory_order_relaxed);
        return reused;
      }
    }
    return new chunk;
  }
  void release(chunk* drained) noexcept {
    const std::lock_guard lock{lock_};
    drained->next.store(free_, std::memory_order_relaxed);
    free_ = drained;
  }

 private:
  os::spin_lock lock_;
  chunk* free_ = nullptr;
};

operation_queue::chunk_pool& operation_queue::pool() noexcept {
  static constinit chunk_pool
      instance;  // has no destructor, because operations may still run at exit
  static_assert(std::is_trivially_destructible_v<chunk_pool>);
  return instance;
}

// Returns the chunk after `last`; the first chunk of the queue if `last` is null. If there is none
// yet, links the spare chunk there, or a chunk of the pool.
operation_queue::chunk& operation_queue::chunk_after(chunk* last) {
  std::atomic<chunk*>& link = last == nullptr ? first_ : last->next;
  if (chunk* const linked = link.load(std::memory_order_relaxed)) return *linked;
  chunk* next = spare_.exchange(nullptr, std::memory_order_acquire);
  if (next == nullptr) next = pool().acquire_chunk();
  link.store(next, std::memory_order_release);
  return *next;
}

// Called when the current chunk is full.
void operation_queue::next_write_chunk() {
  write_chunk_ = &chunk_after(write_chunk_);
  write_ = write_chunk_->operations;
  write_end_ = write_chunk_->operations + chunk::capacity;
}

// Links chunks for operations that do not fit into the current one.
void operation_queue::link_chunks(std::size_t count) {
  auto room = static_cast<std::size_t>(write_end_ - write_);
  for (chunk* last = write_chunk_; room < count; room += chunk::capacity) last = &chunk_after(last);
}

// Continues with the chunk after the drained one, which becomes the spare.
void operation_queue::next_read_chunk() noexcept {
  chunk* consumed = read_chunk_;
  read_chunk_ = consumed == nullptr ? first_.load(std::memory_order_acquire)
                                    : consumed->next.load(std::memory_order_acquire);
  read_ = read_chunk_->operations;
  read_end_ = read_chunk_->operations + chunk::capacity;
  if (consumed == nullptr) return;
  consumed->next.store(nullptr, std::memory_order_relaxed);
  if (chunk* surplus = spare_.exchange(consumed, std::memory_order_acq_rel))
    pool().release(surplus);
}

}  // namespace weir::embedded::engine
