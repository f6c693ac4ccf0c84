// SPDX-License-Identifier: Apache-2.0
// reactor/completion_queue.hpp - the points in one stream's work that are pending, and their
// waiters.
#pragma once

#include "driver/engine_services.hpp"
#include "driver/event_pool.hpp"
#include "driver/table.hpp"
#include "os/spin_lock.hpp"
#include "reactor/completion_points.hpp"
#include "reactor/engine_notification.hpp"
#include "reactor/recording_turns.hpp"

#include <weir/core/errc.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/completion_waiter.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace weir::detail {

class reactor;

// Identifies the stream of a queue. A handle alone is not enough. Each context has its own default
// streams, and each thread its own per-thread default stream. The handle of a stream that weir did
// not create may be reused for another stream.
struct queue_key {
  CUstream stream = closed_handle<CUstream_st>();
  CUcontext context = nullptr;
  unsigned long long context_number = 0;  // the id of the context, never reused
  // A thread's number for a per-thread default stream, else the stream's id; 0 for a legacy default
  // stream.
  unsigned long long identity = 0;
  int device = 0;

  friend bool operator==(const queue_key&, const queue_key&) noexcept = default;
};

// The pending points in one stream's work, each with a ticket (a number) and a list of waiters.
//
// Tickets are in the order of the stream's work. Points complete from the front: if a point is
// complete, so are all before it. On a GPU a point is an event. The queue queries the oldest event
// that has a waiter. After each event that was complete, the next query skips about twice as many
// events as before. On the embedded driver a point is a count of completed operations, and the
// engine notifies the queue when that count is reached.
//
// Queues are never destroyed. A queue serves one stream at a time; each such period is a
// generation. detach() ends it, and the queue returns to the pool (completion_queue_pool.hpp) after
// its last point has completed.
//
// Thread safety: all members except attach() may be called from any thread.
class completion_queue {
 public:
  explicit completion_queue(reactor& owner) : owner_{owner}, points_{owner}, notification_{*this} {}
  completion_queue(const completion_queue&) = delete;
  completion_queue& operator=(const completion_queue&) = delete;

  // Begins a generation with the stream of `key`. The queue must not be attached.
  void attach(const queue_key& key);
  // Ends the generation: no point can be added. Pending points still complete.
  void detach() noexcept;
  [[nodiscard]] const queue_key& key() const noexcept { return key_; }
  // Returns the key of the stream that `ticket` belongs to; its handle is closed if the stream is
  // no longer known.
  [[nodiscard]] queue_key key_of(std::uint64_t ticket) const noexcept;
  // Returns the number of the current generation (the period in which the queue serves one stream).
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return generation_.load(std::memory_order_relaxed);
  }
  // As an argument of add_point(), stands for the current generation, whatever its number. The
  // caller then has to ensure that the queue is not detached during the call.
  static constexpr std::uint64_t any_generation = 0;
  // Returns the reactor of the queue's device, which never changes.
  [[nodiscard]] reactor& owner() const noexcept { return owner_; }
  // Returns true if the embedded engine notifies the queue, so that no thread has to poll it.
  [[nodiscard]] bool uses_engine() const noexcept { return services() != nullptr; }
  [[nodiscard]] bool failed() const noexcept { return points_.failed(); }
  // Returns true if no point is pending, so that the queue may be detached. Queries the newest
  // point. Returns false if the queue is empty but a thread is recording a point.
  [[nodiscard]] bool idle() noexcept;

  // Adds a point after all work that was enqueued in the stream so far. Returns its ticket in
  // `ticket`, and the driver's answer with the call that failed, if one did. Returns `stale` if the
  // queue serves another stream or generation.
  //
  // Throws: std::bad_alloc.
  // In a capture: returns stream_capture_unsupported, or stream_capture_invalidated if the capture
  // is invalidated. Nothing is enqueued.
  // Driver: cuStreamIsCapturing, cuEventRecord.
  [[nodiscard]] driver_result add_point(CUstream stream, std::uint64_t generation,
                                        std::uint64_t& ticket);
  static constexpr errc stale = static_cast<errc>(-1'000);

  // Makes an event of the program the only point of this generation, in place of a stream's points.
  // Returns the point's ticket. The queue returns to the pool when the point completes. The caller
  // keeps the event until then, or passes it to the queue with adopt_event(). The embedded engine
  // does not notify the queue of it.
  //
  // Throws: std::bad_alloc.
  // Driver: cuEventQuery, when the point is queried.
  [[nodiscard]] std::uint64_t watch_event(CUevent event);
  // Like watch_event(event), on the embedded driver. `point` is the last record of the event. The
  // driver is not called.
  //
  // Throws: std::bad_alloc.
  [[nodiscard]] std::uint64_t watch_event(const timeline_point& point, const work_context& context);
  // Makes the queue the owner of the event of watch_event(), which returned `ticket`. Returns
  // false, and leaves the event to the caller, if the point is no longer pending. The queue may
  // then serve a stream or another event.
  [[nodiscard]] bool adopt_event(std::uint64_t ticket) noexcept;

  // Returns the last known status without a driver call: success, the error of the work, or
  // not_ready if the completion was not seen yet.
  [[nodiscard]] errc known_status(std::uint64_t ticket) const noexcept {
    return points_.status(ticket);
  }
  // Like known_status(), but queries the driver if the status is not known.
  [[nodiscard]] errc query(std::uint64_t ticket) noexcept;
  // Like query(), but returns known_status() instead of waiting while another thread queries this
  // queue. That query may have begun before this call, so its answer may be older.
  [[nodiscard]] errc try_query(std::uint64_t ticket) noexcept;

  // Returns true if the reactor thread polls for this ticket or an earlier one. Always false on
  // that reactor thread and in sync_wait(): such a thread has to query itself, because the reactor
  // may be waiting for it.
  [[nodiscard]] bool is_polled_by_reactor(std::uint64_t ticket) const noexcept;

  // Registers a waiter for the point. Returns false, with the outcome in the waiter, if the point
  // is complete or has failed.
  [[nodiscard]] bool add(completion_waiter& waiter, std::uint64_t ticket);
  // Returns true if the waiter was registered and will not be notified.
  [[nodiscard]] bool remove(completion_waiter& waiter) noexcept {
    const std::lock_guard hold{points_.lock()};
    return points_.remove_waiter(waiter);
  }

  // Queries the driver and moves the waiters of completed points to `ready_waiters`. Called by the
  // reactor. Does nothing while another thread queries this queue.
  void poll(waiter_list& ready_waiters) noexcept;
  // Returns true if no point has a waiter; then the reactor stops polling the queue until the next
  // waiter.
  [[nodiscard]] bool leave_if_no_waiters() noexcept;

  // Releases the unused events after a burst of points or a failure. Returns the queue to the pool
  // if its generation is over; a failed queue is never used again. Call it after waiters have been
  // notified, because it may take long.
  void reclaim() noexcept;

  // Queries the newest point if the stream was destroyed and no other thread polls the queue.
  void poll_if_abandoned() noexcept;

  // Completes the points that the engine has reached, or fails all points, and notifies the
  // waiters.
  void poll_engine() noexcept;

  // A point as the engine identifies it. A null `engine` stands for no point.
  struct engine_point {
    const engine_services* engine = nullptr;
    timeline_point point;
  };
  // Returns the point with this ticket. Returns no point if it is not pending or the engine is not
  // in use.
  [[nodiscard]] engine_point engine_point_of(std::uint64_t ticket) noexcept {
    const std::lock_guard hold{points_.lock()};
    return engine_point_at(ticket);
  }
  // Says whether the engine needs the calling thread for a point. `not_needed`: the point is not
  // pending, or the engine is not in use. `shared`: other threads run the work, too. `exclusive`:
  // no other thread runs the work, so the calling thread must not sleep.
  enum class engine_help : unsigned char { not_needed, shared, exclusive };
  // Runs on the calling thread what the engine has to run for the point; without a ticket, for the
  // oldest point that has a waiter.
  [[nodiscard]] engine_help help_engine(std::uint64_t ticket) noexcept;
  [[nodiscard]] engine_help help_engine() noexcept;

  completion_queue* next = nullptr;  // link of the reactor's list, or of the pool's
  // Returns the queue that was created before this one.
  [[nodiscard]] completion_queue* older() const noexcept { return older_; }

 private:
  friend class engine_notification;
  friend completion_queue& acquire_queue(const queue_key& key);

  void trim() noexcept;
  // The caller holds the lock of points_.
  [[nodiscard]] bool is_attached_to(CUstream stream,
                                    std::uint64_t stream_generation) const noexcept {
    return is_attached_ && key_.stream == stream &&
           (stream_generation == any_generation || stream_generation == generation());
  }
  [[nodiscard]] driver_result add_event_point(CUstream stream, std::uint64_t generation,
                                              std::uint64_t& ticket);
  [[nodiscard]] driver_result add_engine_point(CUstream stream, std::uint64_t generation,
                                               std::uint64_t& ticket);
  [[nodiscard]] errc query_point(std::uint64_t value) const noexcept;
  // Queries the driver about the point. `lock` holds polling_, and is released before waiters are
  // notified.
  [[nodiscard]] errc query_locked(std::uint64_t ticket,
                                  std::unique_lock<os::spin_lock> lock) noexcept;
  // Adds a point and returns its ticket. The caller holds the lock of points_ and has called
  // ring().reserve_one().
  [[nodiscard]] std::uint64_t push(std::uint64_t value) noexcept;
  // Adds the point of watch_event(). The caller holds the lock of points_.
  [[nodiscard]] std::uint64_t push_only_point(std::uint64_t value);
  [[nodiscard]] bool owns_events() const noexcept {
    return services_ == nullptr && event_owner_ != event_owner::program;
  }
  // The caller holds polling_ and the lock of points_.
  void complete_through(std::uint64_t ticket, waiter_list& ready_waiters) noexcept;
  void keep_event(std::uint64_t value) noexcept;
  void fail(errc outcome, waiter_list& ready_waiters) noexcept;  // the caller holds polling_
  void complete_reached(waiter_list& ready_waiters) noexcept;
  [[nodiscard]] static engine_help help_engine(const engine_point& awaited_point) noexcept;
  // Like engine_point_of(). The caller holds the lock of points_.
  [[nodiscard]] engine_point engine_point_at(std::uint64_t ticket) noexcept;
  void fall_back_to_polling() noexcept;
  [[nodiscard]] completion_ring& ring() noexcept { return points_.ring(); }

  // Says to whom the events of this generation belong. `pool`: they are taken from event_pool and
  // returned there. `program`: the only point is an event of watch_event(). `queue`: that event was
  // passed to adopt_event(), and the queue destroys it.
  enum class event_owner : unsigned char { pool, program, queue };

  completion_queue* older_ = nullptr;
  reactor& owner_;
  [[nodiscard]] const engine_services* services() const noexcept {
    return services_.load(std::memory_order_relaxed);
  }

  // The following members describe the generation. attach() sets them with polling_ and the lock of
  // points_ held, and watch_event(event) clears services_ likewise. They do not change while
  // polling_ is held and a point is pending, nor while an event is being recorded.
  queue_key key_;
  std::atomic<const engine_services*> services_{nullptr};
  void* timeline_ = nullptr;  // the engine's timeline; null before the first point, and on a GPU
  work_context work_context_;

  completion_points points_;

  // The members from polling_ to pending_ have a cache line of their own, because the reactor
  // visits all queues while other threads add points and waiters. The thread that queries the
  // driver holds polling_; only that thread removes points.
  alignas(64) os::spin_lock polling_;
  // The distance from the oldest awaited point to the point that is queried next. Guarded by
  // polling_, like pending_.
  std::uint64_t stride_ = 0;
  struct {
    std::uint64_t ticket = 0;
    std::uint64_t value = 0;
  } pending_;  // the point that was queried last; ticket 0: none

  // The members from first_of_generation_ to recording_turns_ change only with the lock of points_
  // held.
  alignas(64) std::atomic<std::uint64_t> first_of_generation_{0};
  std::atomic<std::uint64_t> generation_{any_generation};
  // Unused events. Has reserved room for the event of each pending point.
  std::vector<CUevent> free_;
  std::atomic<bool> needs_trim_{false};  // set by push(): the next add_point() calls trim()
  bool is_in_reactor_ = false;           // the reactor polls the queue
  bool is_attached_ = false;             // serves a stream, so points can be added
  event_owner event_owner_ = event_owner::pool;
  bool is_pooled_ = false;  // waits in the pool for attach()
  recording_turns recording_turns_;

  engine_notification notification_;
};

}  // namespace weir::detail
