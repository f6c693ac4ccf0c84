// engine/operation_queue.hpp - the operations of a timeline between the thread that adds and the
// thread that runs.
#pragma once

#include <atomic>
#include <cstdint>

#include "embedded/engine/operation.hpp"

namespace weir::embedded::engine {

// A first-in first-out queue in chunks of 63 operations. One thread pushes at a time and one pops
// at a time (the timeline sees to both); the reader learns how far it may read from the timeline's
// submitted count. Chunks go round in a pool, so that a queue in steady state allocates nothing.
class operation_queue {
 public:
  operation_queue() = default;
  operation_queue(const operation_queue&) = delete;
  operation_queue& operator=(const operation_queue&) = delete;
  // No destructor: timelines are immortal.

  // Throws std::bad_alloc, and then nothing was added.
  void push(const operation& op) {
    if (write_ == write_end_) next_write_chunk();
    *write_++ = op;
    ++pushed_;
  }
  [[nodiscard]] std::uint64_t pushed() const noexcept { return pushed_; }

  // The next two push() do not throw: this does.
  void make_room() {
    if (write_end_ - write_ < 2) make_more_room();
  }

  // The oldest operation; only where the writer has published it.
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

  // The writer's.
  operation* write_ = nullptr;
  operation* write_end_ = nullptr;
  chunk* write_chunk_ = nullptr;
  std::uint64_t pushed_ = 0;

  // Between the two: the first chunk for the reader, and a drained one for the writer.
  alignas(64) std::atomic<chunk*> first_{nullptr};
  std::atomic<chunk*> spare_{nullptr};

  // The reader's.
  alignas(64) operation* read_ = nullptr;
  operation* read_end_ = nullptr;
  chunk* read_chunk_ = nullptr;
};

}  // namespace weir::embedded::engine
