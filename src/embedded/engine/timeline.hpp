// engine/timeline.hpp - a stream's work as a count that only grows: operations in order, and how
// many are complete.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "driver/engine_services.hpp"
#include "embedded/engine/biased_lock.hpp"
#include "embedded/engine/operation.hpp"
#include "embedded/engine/operation_queue.hpp"
#include "embedded/engine/spin_lock.hpp"
#include "embedded/engine/wait_log.hpp"

namespace weir::embedded::engine {

struct sleeper;

// Why a thread stopped running a timeline.
enum class stop_reason : std::uint8_t {
  drained,  // nothing is left
  limit,    // as far as was asked for
  blocked,  // on a point or on a value; whoever brings it about lists the timeline again
  host,  // the next operation is for the thread of the host functions, which has it now; or is not
         // for that one
  offloaded,  // a step left the next operation to a thread of its own
};

// Who runs a timeline: host functions run on one thread of the driver, which in turn leaves long
// work to the others. A step of a deterministic schedule leaves both to others, and waits for them;
// it does not wait for ever.
enum class runner_kind : std::uint8_t { worker, helper, host_thread, step };

// Operations that run in order, and the count of those that are complete.
//
// A timeline is run by one thread at a time, its owner: a worker, the host thread, or a thread that
// waits. What its state says decides who may become the owner next:
//   queued  the scheduler will look at it (scheduler.hpp)
//   owned   somebody runs it
//   parked  its next operation cannot run yet; the one who makes it possible clears this and lists
//   it
//
// Timelines are pooled and immortal. One that is given back when it is drained goes on counting in
// its next life, so that every point in it stays true.
class alignas(64) timeline {
 public:
  // Adds operations as one step: they become visible when it ends, and until then no other thread
  // adds any.
  class [[nodiscard]] submission {
   public:
    explicit submission(timeline& line) noexcept : line_{line} { lock_.emplace(line.submitting_); }
    submission(const submission&) = delete;
    submission& operator=(const submission&) = delete;
    ~submission();

    // Throws std::bad_alloc, and then nothing was added by this call.
    void add(const operation& op) { line_.queue_.push(op); }

    // The next two operations are added without fail, whatever this call throws: for what others
    // rely on once it is begun.
    void make_room() { line_.queue_.make_room(); }

    // Waits for a point of another timeline, if it is not reached.
    void add_wait(point target);

    // Was an event recorded here already, behind all that was added? mark_recorded() says that one
    // is.
    [[nodiscard]] bool is_recorded() const noexcept {
      return line_.recorded_ == line_.queue_.pushed();
    }
    void mark_recorded() noexcept { line_.recorded_ = line_.queue_.pushed(); }

    // Where everything added so far is complete.
    [[nodiscard]] point end() const noexcept { return {&line_, line_.queue_.pushed()}; }

   private:
    timeline& line_;
    std::optional<biased_lock::section> lock_;
  };

  // A drained timeline from the pool. Throws std::bad_alloc.
  static timeline& acquire();

  // Gives it back for reuse, at once or when it is drained. Nothing may be submitted afterwards.
  void release_when_drained();

  [[nodiscard]] std::uint64_t submitted() const noexcept {
    return submitted_.load(std::memory_order_acquire);
  }
  [[nodiscard]] std::uint64_t completed() const noexcept {
    return completed_.load(std::memory_order_acquire);
  }
  [[nodiscard]] bool drained() const noexcept { return completed() >= submitted(); }
  [[nodiscard]] point submitted_point() noexcept { return {this, submitted()}; }

  // The waits that submissions have added.
  [[nodiscard]] const wait_log& waits() const noexcept { return waits_; }

  // How much of it a thread of the host has waited for, and so knows to be complete.
  void mark_known_to_host(std::uint64_t count) noexcept;
  [[nodiscard]] bool is_known_to_host(std::uint64_t count) const noexcept {
    return known_to_host_.load(std::memory_order_acquire) >= count;
  }

  // Becomes the owner, if there is something to run and nobody else does.
  [[nodiscard]] bool try_own() noexcept;

  // Runs operations, as the owner, until `limit` of them are complete or one of the other reasons
  // to stop; then at most `extra` short ones more, if they are there. The ownership ends with the
  // call.
  stop_reason run(runner_kind role, std::uint64_t limit, std::uint32_t extra = 0) noexcept;

  // What it is parked on; a null line where it is not. Where it waits for a value in memory, the
  // last write to that word that was submitted, as far as is known (pending_value_writes.hpp).
  [[nodiscard]] point blocked_on() const noexcept;

  // Sees to it that somebody runs it, if there is something to run and nobody does.
  void make_ready() noexcept;

  // Lets it go on: what it was parked on has come about.
  void unpark() noexcept;

  // Wakes a thread at `count`. False, and not entered, if that is reached. Throws std::bad_alloc.
  bool add_sleeper(sleeper& thread, std::uint64_t count);
  void remove_sleeper(sleeper& thread) noexcept;

  // Tells somebody that `count` is reached. False, and not entered, if it is. Throws
  // std::bad_alloc. Taken back: true if it was not told and will not be.
  bool add_notice(detail::engine_callback& notice, std::uint64_t count);
  bool remove_notice(detail::engine_callback& notice) noexcept;
  [[nodiscard]] static bool has_notices() noexcept {
    return notices_.load(std::memory_order_relaxed) > 0;
  }

  // For the value watch, of a timeline that is parked on a value: is it there, and which word is
  // it?
  [[nodiscard]] bool value_reached() noexcept;
  [[nodiscard]] const void* watched_word() const noexcept {
    return watched_word_.load(std::memory_order_relaxed);
  }
  timeline* next_value_waiter = nullptr;  // guarded by the watch's lock

  // For the scheduler's lists.
  static constexpr std::uint32_t queued = 1;
  static constexpr std::uint32_t owned = 2;
  static constexpr std::uint32_t parked = 4;
  [[nodiscard]] bool
  mark_queued() noexcept;  // true if it was not, and is nobody's: the caller lists it
  [[nodiscard]] bool
  unmark_queued() noexcept;  // true if it must be listed again, because there is something to run
  void clear_queued() noexcept { state_.fetch_and(~queued); }
  [[nodiscard]] std::uint32_t state() const noexcept {
    return state_.load(std::memory_order_acquire);
  }
  timeline* next_ready = nullptr;  // the ready list's
  timeline* next_host = nullptr;   // the host list's
  void own_parked() noexcept;      // for the thread that it was passed to
  bool in_active_list = false;     // the conductor's, under its lock: does it know of the timeline?

 private:
  struct waiter {
    std::uint64_t count;
    timeline* line;                             // either this
    sleeper* thread;                            // or that
    detail::engine_callback* notice = nullptr;  // or that
  };
  static constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

  bool add_waiter(const waiter& entry);
  void publish(std::uint64_t count) noexcept;
  void publish_seq_cst(std::uint64_t count) noexcept;
  void wake_waiters() noexcept;
  static void enqueue_run_next() noexcept;
  static bool may_run(runner_kind role, operation_kind kind) noexcept;
  enum class park_result : std::uint8_t { parked, reached, out_of_memory };
  park_result park_on(point target) noexcept;
  bool park_on_value(operation& op) noexcept;
  void park() noexcept;
  void disown() noexcept;
  void recycle_if_drained() noexcept;

  // Written by those who submit.
  biased_lock submitting_;
  operation_queue queue_;
  wait_log waits_;
  std::uint64_t recorded_ = 0;  // where an event was recorded last
  alignas(64) std::atomic<std::uint64_t> submitted_{0};

  // Written by the owner.
  alignas(64) std::atomic<std::uint64_t> completed_{0};
  std::atomic<timeline*> blocked_line_{nullptr};
  std::atomic<std::uint64_t> blocked_count_{0};
  std::atomic<const void*> watched_word_{nullptr};

  alignas(64) std::atomic<std::uint32_t> state_{0};
  std::atomic<bool> release_when_drained_{false};

  // Written by those who wait.
  alignas(64) std::atomic<std::uint64_t> wake_at_{
      never};  // the lowest count that somebody waits for
  std::atomic<std::uint64_t> known_to_host_{0};
  spin_lock waiters_lock_;
  static constinit std::atomic<long> notices_;  // of all timelines
  std::vector<waiter> waiters_;
};

inline bool point::reached() const noexcept {
  return line == nullptr || line->completed() >= count;
}

}  // namespace weir::embedded::engine
