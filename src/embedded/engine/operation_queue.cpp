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

// Called when the current chunk is full. Continues with the spare chunk, or with a chunk of the
// pool if there is no spare.
void operation_queue::next_write_chunk() {
  chunk* next = spare_.exchange(nullptr, std::memory_order_acquire);
  if (next == nullptr) next = pool().acquire_chunk();
  if (write_chunk_ == nullptr) {
    first_.store(next, std::memory_order_release);
  } else {
    write_chunk_->next.store(next, std::memory_order_release);
  }
  write_chunk_ = next;
  write_ = next->operations;
  write_end_ = next->operations + chunk::capacity;
}

// Keeps a spare chunk for the writer. When the reader drains another chunk, it puts that one in the
// spare's place and returns the old spare to the pool.
void operation_queue::make_more_room() {
  if (write_ == write_end_) {
    next_write_chunk();
  } else if (spare_.load(std::memory_order_relaxed) == nullptr) {
    if (chunk* surplus = spare_.exchange(pool().acquire_chunk(), std::memory_order_acq_rel))
      pool().release(surplus);
  }
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
