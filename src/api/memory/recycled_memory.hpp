// SPDX-License-Identifier: Apache-2.0
// api/memory/recycled_memory.hpp - memory whose owner has ended, kept for the next owner when the
// streams that use it are done.
#pragma once

#include "api/core/first_failure.hpp"
#include "api/memory/memory_record.hpp"

#include <weir/core/deferred.hpp>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

namespace weir::detail {

class recycling_queue;

// What the uses of ended memory are doing. `captured`: one of the streams is in a capture, so the
// driver cannot be asked. `failed`: the driver did not answer.
enum class use_state : unsigned char { done, busy, captured, failed };

// Memory that the next owner may get. The base class of what describes such memory.
struct recycled_memory : deferred_task {
  // Called when the uses of this memory are done or failed, on any thread. The uses are destroyed
  // by then.
  using finish_function = void (*)(recycled_memory& self, use_state state) noexcept;

  recycled_memory(finish_function on_finish, std::size_t size) noexcept
      : finish{on_finish}, bytes{size} {}

  finish_function finish;
  std::size_t bytes;
  ended_uses uses;            // null if no stream uses the memory
  bool has_snapshot = false;  // true if later work in the streams of `uses` is ignored
  first_failure failure;      // of calls for the uses
};

// Memory that streams still use. Every allocation looks at a few of its elements, the oldest first,
// so that its length stays in proportion to what is really in use, and no thread has to poll.
//
// Thread safety: all members may be called from any thread.
class recycling_queue {
 public:
  // The number of elements that each allocation looks at. With four, the queue holds at most a
  // third more elements than are in use.
  static constexpr std::size_t looks_per_allocation = 4;

  // The two queues of the process, which are never destroyed.
  [[nodiscard]] static recycling_queue& of_pinned_memory() noexcept;
  [[nodiscard]] static recycling_queue& of_wait_words() noexcept;

  constexpr recycling_queue() noexcept = default;
  recycling_queue(const recycling_queue&) = delete;
  recycling_queue& operator=(const recycling_queue&) = delete;
  ~recycling_queue() = default;

  // Called by the destructor of the owner. Finishes the memory at once if its uses are done.
  // Otherwise adds it to the queue. The reclaimer thread polls for it instead if the queue would
  // have more than `max_bytes` bytes then, or if the calling thread must make no driver call.
  void recycle(recycled_memory& ended, std::size_t max_bytes) noexcept;

  // Looks at up to `count` elements, and finishes those whose uses are done. Does nothing if the
  // calling thread must make no driver call, or if another thread looks at elements now.
  void finish_done(std::size_t count) noexcept;

  // Looks at the elements of all queues. Returns the number of elements that are left.
  [[nodiscard]] static std::size_t count_in_use() noexcept;
  // Passes the elements of all queues to the reclaimer thread, which polls until their uses are
  // done.
  static void defer_all() noexcept;

 private:
  void push(recycled_memory& added) noexcept;
  [[nodiscard]] recycled_memory* pop() noexcept;
  void defer_elements() noexcept;

  std::atomic<bool> looking_{false};   // true while a thread looks at elements, outside the list
  std::atomic<std::size_t> count_{0};  // of all elements, also while a thread looks at them
  std::atomic<std::size_t> bytes_{0};
  std::mutex lock_;  // guards the list; not held during driver calls
  recycled_memory* first_ = nullptr;
  recycled_memory* last_ = nullptr;  // valid unless first_ is null
};

}  // namespace weir::detail
