// SPDX-License-Identifier: Apache-2.0
// api/memory/recycled_memory.cpp - finds out when ended memory is not used any more.
#include "api/memory/recycled_memory.hpp"

#include "api/capture/capture_begin.hpp"
#include "api/capture/capture_query.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/call_restrictions.hpp"
#include "api/deferred/reclaimer.hpp"
#include "os/forked_child.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <thread>
#include <utility>

namespace weir::detail {
namespace {

constinit std::array<recycling_queue, 2> queues;

// Returns true if the calling thread may ask the driver for the state of streams and events.
bool may_look() noexcept { return can_destroy_now() && !os::in_forked_child(); }

use_state state_of(const pending_uses& uses) noexcept {
  const CUresult answer = uses.query();
  if (answer == CUDA_SUCCESS) return use_state::done;
  return answer == CUDA_ERROR_NOT_READY ? use_state::busy : use_state::failed;
}

// Looks at the streams themselves. An idle stream needs no event.
use_state look_at_streams(const pending_uses& uses) noexcept {
  const std::unique_lock<std::mutex> lock = lock_capture_begin();
  return !uses.all_in_capture(no_capture) ? use_state::captured : state_of(uses);
}

// Returns what the uses of the memory are doing. The first call that finds a busy stream records an
// event in it, so that later work in the stream is ignored.
use_state look_at(recycled_memory& memory) noexcept {
  if (memory.uses == nullptr) return use_state::done;
  const relaxed_capture_mode allowed{memory.failure};
  if (memory.has_snapshot) return state_of(*memory.uses);
  const use_state now = look_at_streams(*memory.uses);
  if (now != use_state::busy) return now;
  memory.has_snapshot = memory.uses->snapshot_unless_captured(memory.failure);
  return memory.has_snapshot ? use_state::busy : use_state::captured;
}

void finish(recycled_memory& memory, use_state state) noexcept {
  memory.uses.reset();
  memory.has_snapshot = false;
  memory.finish(memory, state);
}

// A deferred task that finishes the memory when its uses are done.
task_result finish_when_done(deferred_task& self) noexcept {
  auto& memory = static_cast<recycled_memory&>(self);
  const use_state state = look_at(memory);
  if (state == use_state::busy) return task_result::busy;
  if (state == use_state::captured) return task_result::capture_active;
  finish(memory, state);
  return task_result::done;
}

void finish_on_reclaimer_thread(recycled_memory& memory) noexcept {
  memory.run = &finish_when_done;
  defer_task(memory);
}

// Finishes memory that is not in use any more. A driver may refuse to answer because of where the
// calling thread is, such as in a callback of other code, so the reclaimer thread asks once more.
void finish_or_ask_again(recycled_memory& memory, use_state state) noexcept {
  if (state == use_state::failed) return finish_on_reclaimer_thread(memory);
  finish(memory, state);
}

}  // namespace

recycling_queue& recycling_queue::of_pinned_memory() noexcept { return queues[0]; }
recycling_queue& recycling_queue::of_wait_words() noexcept { return queues[1]; }

void recycling_queue::push(recycled_memory& added) noexcept {
  const std::lock_guard hold{lock_};
  added.next = nullptr;
  if (first_ == nullptr) {
    first_ = &added;
  } else {
    last_->next = &added;
  }
  last_ = &added;
}

recycled_memory* recycling_queue::pop() noexcept {
  const std::lock_guard hold{lock_};
  recycled_memory* const oldest = first_;
  if (oldest != nullptr) first_ = static_cast<recycled_memory*>(oldest->next);
  return oldest;
}

void recycling_queue::recycle(recycled_memory& ended, std::size_t max_bytes) noexcept {
  if (os::in_forked_child()) return;  // the memory belongs to the parent
  if (ended.uses == nullptr) return finish(ended, use_state::done);
  if (!may_look()) return finish_on_reclaimer_thread(ended);
  const use_state now = look_at(ended);
  if (now == use_state::done || now == use_state::failed) return finish_or_ask_again(ended, now);
  // The reclaimer thread looks again when the capture has ended.
  if (now == use_state::captured) return finish_on_reclaimer_thread(ended);
  if (bytes_.load(std::memory_order_relaxed) + ended.bytes > max_bytes)
    return finish_on_reclaimer_thread(ended);
  count_.fetch_add(1, std::memory_order_relaxed);
  bytes_.fetch_add(ended.bytes, std::memory_order_relaxed);
  push(ended);
}

void recycling_queue::finish_done(std::size_t count) noexcept {
  count = std::min(count, count_.load(std::memory_order_relaxed));
  if (count == 0 || !may_look() || looking_.exchange(true, std::memory_order_acquire)) return;
  struct ended_use {
    recycled_memory* memory;
    use_state state;
  };
  std::array<ended_use, looks_per_allocation> finished;
  std::size_t finished_count = 0;
  for (; count > 0 && finished_count < finished.size(); --count) {
    recycled_memory* const oldest = pop();
    if (oldest == nullptr) break;
    const use_state now = look_at(*oldest);
    if (now == use_state::busy) {
      push(*oldest);
    } else {
      finished[finished_count++] = {oldest, now};
    }
  }
  looking_.store(false, std::memory_order_release);
  // Called without looking_, because it may call the program's error handler.
  for (const auto& [memory, state] : std::span{finished}.first(finished_count)) {
    bytes_.fetch_sub(memory->bytes, std::memory_order_relaxed);
    if (state == use_state::captured) {
      finish_on_reclaimer_thread(*memory);
    } else {
      finish_or_ask_again(*memory, state);
    }
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
}

std::size_t recycling_queue::count_in_use() noexcept {
  std::size_t left = 0;
  for (recycling_queue& queue : queues) {
    for (std::size_t left_to_look = queue.count_.load(std::memory_order_relaxed); left_to_look > 0;
         left_to_look -= std::min(left_to_look, looks_per_allocation))
      queue.finish_done(looks_per_allocation);
    left += queue.count_.load(std::memory_order_relaxed);
  }
  return left;
}

void recycling_queue::defer_elements() noexcept {
  while (looking_.exchange(true, std::memory_order_acquire)) std::this_thread::yield();
  while (recycled_memory* const oldest = pop()) {
    bytes_.fetch_sub(oldest->bytes, std::memory_order_relaxed);
    finish_on_reclaimer_thread(*oldest);
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
  looking_.store(false, std::memory_order_release);
}

void recycling_queue::defer_all() noexcept {
  for (recycling_queue& queue : queues) {
    if (queue.count_.load(std::memory_order_relaxed) != 0) queue.defer_elements();
  }
}

}  // namespace weir::detail
