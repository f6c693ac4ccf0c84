// SPDX-License-Identifier: Apache-2.0
// embedded/engine/operation_queue.hpp - the queue between the threads that submit to a timeline and
// the thread that runs it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "embedded/engine/operation.hpp"

namespace weir::embedded::engine {

// The FIFO queue of a timeline, the sequence of operations of a stream, in chunks of 63 operations.
// The timeline ensures that one thread at a time pushes and one pops. timeline::submitted() tells
// the reader how far it may read. Chunks are recycled through a pool, so a queue in steady state
// does not allocate.
class operation_queue {
 public:
  operation_queue() = default;
  operation_queue(const operation_queue&) = delete;
  operation_queue& operator=(const operation_queue&) = delete;
  // No destructor, because timelines are never destroyed.

  // Throws std::bad_alloc without adding anything.
  void push(const operation& op) {
    if (write_ == write_end_) next_write_chunk();
    *write_ = op;
    write_++->submission = submission_clock.load(std::memory_order_relaxed);
    ++pushed_;
  }
  // Returns the number of operations pushed so far, including those that were popped.
  [[nodiscard]] std::uint64_t pushed() const noexcept { return pushed_; }

  // Reserves room for `count` operations. May throw std::bad_alloc; the next `count` push() then do
  // not.
  void make_room(std::size_t count) {
    if (static_cast<std::size_t>(write_end_ - write_) < count) link_chunks(count);
  }

  // Returns the oldest operation. The queue must contain one that timeline::submitted() counts.
  [[nodiscard]] operation& front() noexcept {
    if (read_ == read_end_) next_read_chunk();
    return *read_;
  }
  // Removes the oldest operation. Call front() before.
  void pop() noexcept { ++read_; }

 private:
  struct chunk;
  class chunk_pool;
  static chunk_pool& pool() noexcept;

  chunk& chunk_after(chunk* last);
  void next_write_chunk();
  void link_chunks(std::size_t count);
  void next_read_chunk() noexcept;

  // Used by the writer.
  operation* write_ = nullptr;
  operation* write_end_ = nullptr;
  chunk* write_chunk_ = nullptr;
  std::uint64_t pushed_ = 0;

  // Shared: the first chunk for the reader, and a drained chunk for the writer.
  alignas(64) std::atomic<chunk*> first_{nullptr};
  std::atomic<chunk*> spare_{nullptr};

  // Used by the reader.
  alignas(64) operation* read_ = nullptr;
  operation* read_end_ = nullptr;
  chunk* read_chunk_ = nullptr;
};

}  // namespace weir::embedded::engine
