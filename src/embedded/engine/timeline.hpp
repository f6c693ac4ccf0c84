// SPDX-License-Identifier: Apache-2.0
// embedded/engine/timeline.hpp - the operations of a stream in order, and the count of completed
// ones.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "driver/abi/engine_callback.hpp"
#include "embedded/engine/biased_lock.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/operation_queue.hpp"
#include "embedded/engine/wait_log.hpp"
#include "os/spin_lock.hpp"

namespace weir::embedded::engine {

// Why a thread stopped running a timeline.
enum class stop_reason : std::uint8_t {
  drained,  // nothing is left
  limit,    // the `limit` of run() is reached
  // Blocked on a point or value. The thread that reaches it makes the timeline ready again.
  blocked,
  // The next operation is a host function, which was passed to the host thread. Or the host thread
  // stopped before long work, which was passed to the workers.
  host,
  offloaded,  // a step of a deterministic schedule passed the next operation to another thread
};

// Which thread runs a timeline. A helper is a program thread that waits. All host functions run on
// host_thread, one thread of the driver, which leaves long work to other threads. A step of a
// deterministic schedule leaves host functions and long work to other threads, and waits for these
// threads for a limited time. The host thread runs one host function of a timeline, and is then its
// host_thread_after_function: it leaves the next host function to a later turn.
enum class runner_kind : std::uint8_t {
  worker,
  helper,
  host_thread,
  host_thread_after_function,
  step
};

// Operations that run in order, and the count of completed ones. Each stream has a timeline, and
// so does each branch of an executable graph.
//
// One thread at a time runs a timeline, its owner: a worker, the host thread, or a thread that
// waits. The state decides which thread may become the owner next:
// - queued: the scheduler will look at it (scheduler.hpp)
// - owned: a thread runs it
// - parked: its next operation cannot run yet, or was passed to a thread that may run it; the
//   thread that makes the operation possible calls unpark(), the other one own_parked()
//
// A point is a position in a timeline, reached when that many of its operations have completed.
//
// Timelines are pooled and never destroyed. A reused timeline continues to count, so every point
// stays valid.
class alignas(64) timeline {
 public:
  // Adds operations as a transaction: they become visible when it ends. Until then no other thread
  // can add operations.
  class [[nodiscard]] submission {
   public:
    explicit submission(timeline& line) noexcept : line_{line} {
      lock_.emplace(line.submission_lock_);
    }
    submission(const submission&) = delete;
    submission& operator=(const submission&) = delete;
    ~submission();

    // Throws std::bad_alloc without adding anything.
    void add(const operation& op) { line_.queue_.push(op); }

    // Reserves room for `count` operations: adding them afterwards cannot fail. May throw
    // std::bad_alloc.
    void make_room(std::size_t count) { line_.queue_.make_room(count); }

    // Adds a wait for a point of another timeline, unless the point is reached. Logs it in either
    // case (wait_log.hpp). Does nothing for a point of this timeline. Throws std::bad_alloc without
    // adding anything.
    void add_wait(point target);

    // Returns true if an event was recorded after the last operation, that is, if no operation was
    // added since mark_recorded().
    [[nodiscard]] bool is_recorded() const noexcept {
      return line_.recorded_ == line_.queue_.pushed();
    }
    void mark_recorded() noexcept { line_.recorded_ = line_.queue_.pushed(); }

    // Returns the point after everything added so far.
    [[nodiscard]] point end() const noexcept { return {&line_, line_.queue_.pushed()}; }

   private:
    timeline& line_;
    std::optional<biased_lock::section> lock_;
  };

  // Takes a timeline without unfinished work from the pool, or creates one. Throws std::bad_alloc.
  static timeline& acquire();

  // Returns the timeline to the pool once all its operations are complete. Nothing may be submitted
  // after this call.
  void release_when_drained();

  // Returns the number of operations submitted so far.
  [[nodiscard]] std::uint64_t submitted() const noexcept {
    return submitted_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t completed() const noexcept {
    return completed_.load(std::memory_order_acquire);
  }
  // Returns true if all submitted operations are complete.
  [[nodiscard]] bool drained() const noexcept { return completed() >= submitted(); }
  [[nodiscard]] point submitted_point() noexcept { return {this, submitted()}; }

  // Returns the waits that submissions have added.
  [[nodiscard]] const wait_log& waits() const noexcept { return waits_; }

  // Raises the count up to which a host thread has waited. The program then knows that this work is
  // complete, and is_known_to_host() returns true for it.
  void mark_known_to_host(std::uint64_t count) noexcept;
  [[nodiscard]] bool is_known_to_host(std::uint64_t count) const noexcept {
    return known_to_host_.load(std::memory_order_acquire) >= count;
  }

  // Makes the calling thread the owner. Returns false if there is nothing to run, or another thread
  // owns the timeline, or it is parked.
  [[nodiscard]] bool try_own() noexcept;

  // Runs operations until completed() is `limit` or another stop reason applies. After the limit,
  // runs up to `max_extra` further operations, if they are already submitted and of kind `work`.
  // The caller must be the owner; ownership ends with the call.
  stop_reason run(runner_kind role, std::uint64_t limit, std::uint32_t max_extra = 0) noexcept;

  // Returns the point on which the timeline is parked; no point if it is not parked. If it is
  // parked on a value, returns the point of the last known submitted write to the word
  // (pending_value_writes.hpp). The result may be outdated: the caller must check again whether the
  // timeline is parked.
  [[nodiscard]] point blocked_on() const noexcept;

  // Passes the timeline to the scheduler, unless it is drained, owned, parked or queued.
  void make_ready() noexcept;

  // Lets a parked timeline continue after its wait has ended: the calling thread keeps it in its
  // run_next_slot, or passes it to the scheduler.
  void unpark() noexcept;
  // Unparks a list of timelines, linked by next_parked.
  static void unpark_all(timeline* first) noexcept;

  // Registers a callback that is called when `count` operations are complete. Returns false,
  // without registering it, if they already are. Throws std::bad_alloc.
  bool add_callback(detail::engine_callback& callback, std::uint64_t count);
  // Returns true if the callback was not called and will not be.
  bool remove_callback(detail::engine_callback& callback) noexcept;
  // Returns true if a callback is registered with any timeline.
  [[nodiscard]] static bool has_callbacks() noexcept {
    return callback_count_.load(std::memory_order_relaxed) > 0;
  }

  // Returns true if the word has the value on which the timeline is parked, or if the device has
  // failed. For value_waiters.cpp only.
  [[nodiscard]] bool value_reached() noexcept;
  // Returns the address of the word on whose value the timeline is parked, else null.
  [[nodiscard]] const void* watched_word() const noexcept {
    return watched_word_.load(std::memory_order_relaxed);
  }
  // Link of two lists: the timelines that wait for a value, guarded by a lock of value_waiters.cpp,
  // and the timelines that a thread is about to unpark.
  timeline* next_parked = nullptr;

  // State bits, and the scheduler's lists.
  static constexpr std::uint32_t queued = 1;
  static constexpr std::uint32_t owned = 2;
  static constexpr std::uint32_t parked = 4;
  // Sets `queued` and returns true; the caller must then add the timeline to a list. Returns false
  // if the timeline is queued, owned or parked.
  [[nodiscard]] bool mark_queued() noexcept;
  // Clears `queued`. If the timeline has work, calls mark_queued() and returns its result.
  [[nodiscard]] bool unmark_queued() noexcept;
  void clear_queued() noexcept { state_.fetch_and(~queued); }
  [[nodiscard]] std::uint32_t state() const noexcept {
    return state_.load(std::memory_order_acquire);
  }
  timeline* next_ready = nullptr;  // link of the ready list
  timeline* next_host = nullptr;   // link of the host list
  // Used by the deterministic scheduler, guarded by its locks.
  bool in_active_list = false;
  std::uint32_t schedule_number = 0;  // in the order of the first submissions; 0: none yet
  std::uint64_t priority = 0;         // set by step_strategy.hpp; 0: follows from the number
  // Returns when the next operation was added (submission_clock). The caller knows that the
  // timeline has one, and that no other thread can become the owner.
  [[nodiscard]] std::uint32_t next_submission() noexcept { return queue_.front().submission; }

  // Makes the calling thread the owner of a parked timeline. Only the thread that parked it or that
  // it was passed to by scheduler::offload() may call this.
  void own_parked() noexcept { replace_state(parked, owned); }

 private:
  struct waiter {
    std::uint64_t count;
    timeline* line;  // parked on the count; either `line` or `callback` is null
    detail::engine_callback* callback;
  };
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  bool add_waiter(const waiter& entry);
  void publish_completed(std::uint64_t count) noexcept;
  void publish_completed_seq_cst(std::uint64_t count) noexcept;
  void wake_waiters() noexcept;
  static void enqueue_run_next() noexcept;
  std::optional<stop_reason> stop_before(operation& op, runner_kind role) noexcept;
  std::optional<stop_reason> hand_over(const operation& op, runner_kind role) noexcept;
  enum class park_result : std::uint8_t { parked, reached, out_of_memory };
  park_result park_on(point target) noexcept;
  bool park_on_value(operation& op) noexcept;
  void replace_state(std::uint32_t cleared, std::uint32_t set) noexcept;
  void park() noexcept { replace_state(owned, parked); }
  void disown() noexcept;
  void recycle_if_drained() noexcept;

  // Written by submitting threads.
  biased_lock submission_lock_;  // held during a submission
  operation_queue queue_;
  wait_log waits_;
  std::uint64_t recorded_ = 0;  // queue_.pushed() at the last mark_recorded()
  alignas(64) std::atomic<std::uint64_t> submitted_{0};

  // Written by the thread that runs the timeline, its owner.
  alignas(64) std::atomic<std::uint64_t> completed_{0};
  std::atomic<timeline*> blocked_line_{nullptr};
  std::atomic<std::uint64_t> blocked_count_{0};
  std::atomic<const void*> watched_word_{nullptr};

  alignas(64) std::atomic<std::uint32_t> state_{0};
  std::atomic<bool> release_when_drained_{false};

  // Written by waiting threads.
  // The lowest count that a waiter waits for.
  alignas(64) std::atomic<std::uint64_t> lowest_waited_count_{never};
  std::atomic<std::uint64_t> known_to_host_{0};
  os::spin_lock waiters_lock_;
  static constinit std::atomic<long> callback_count_;  // registered callbacks of all timelines
  std::vector<waiter> waiters_;
};

inline bool point::reached() const noexcept {
  return line == nullptr || line->completed() >= count;
}

}  // namespace weir::embedded::engine
