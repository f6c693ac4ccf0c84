// SPDX-License-Identifier: Apache-2.0
// embedded/engine/operation_queue.hpp - the queue between the threads that submit to a timeline and
// the thread that runs it.
#pragma once

#include <atomic>
#include <cstdint>

#include "embedded/engine/operation.hpp"

namespace weir::embedded::engine {

// A FIFO queue in chunks of 63 operations. One thread at a time pushes and one pops; the timeline
// ensures that. The timeline's submitted count tells the reader how far it may read. Chunks are
// recycled through a pool, so a queue in steady state does not allocate.
class operation_queue {
 public:
  operation_queue() = default;
  operation_queue(const operation_queue&) = delete;
  operation_queue& operator=(const operation_queue&) = delete;
  // No destructor, because timelines are never destroyed.

  // Throws std::bad_alloc without adding anything.
  void push(const operation& op) {
    if (write_ == write_end_) next_write_chunk();
    *write_++ = op;
    ++pushed_;
  }
  [[nodiscard]] std::uint64_t pushed() const noexcept { return pushed_; }

  // Reserves room: may throw std::bad_alloc, but the next two push() do not.
  void make_room() {
    if (write_end_ - write_ < 2) make_more_room();
  }

  // Returns the oldest operation. The writer must have published it.
  [[nodiscard]] operation& front() noexcept {
    if (read_ == read_end_) next_read_chunk();
    return *read_;
  }
  void pop() noexcept { ++read_; }

 private:
  struct chunk;
  class chunk_pool;
  static chunk_pool& pool() noexcept;

  void next_write_chunk();
  void make_more_room();
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
