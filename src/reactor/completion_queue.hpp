// reactor/completion_queue.hpp - the work of one stream as numbered points, who waits for them, and
// how they are found to be done.
#pragma once

#include "driver/engine_services.hpp"
#include "driver/table.hpp"
#include "os/spin_lock.hpp"
#include "reactor/completion_ring.hpp"
#include "reactor/event_pool.hpp"
#include "reactor/waiter_list.hpp"

#include <weir/core/errc.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/completion_waiter.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace weir::detail {

class reactor;

// Which stream a lane is about. Of default streams each context has its own, and of per-thread ones
// each thread; a foreign stream's handle may come back as another stream, and so its driver's
// number belongs to it.
struct queue_key {
  CUstream stream = closed_handle<CUstream_st>();
  CUcontext context = nullptr;
  unsigned long long context_number = 0;
  unsigned long long identity =
      0;  // a thread's number, a stream's id; 0 where the handle says it all
  int device = 0;

  friend bool operator==(const queue_key&, const queue_key&) noexcept = default;
};

// Points come in the order of the stream's work and are settled from the front: if one is done so
// are all before it. On a GPU a point is an event, and only the oldest one that somebody waits for
// is asked, then those behind it in steps that double. On the embedded driver it is a count, and
// the engine tells when it is reached.
//
// Thread safety: all members, from any thread, but for attach().
class completion_queue {
 public:
  explicit completion_queue(reactor& owner) : owner_{owner} {}
  completion_queue(const completion_queue&) = delete;
  completion_queue& operator=(const completion_queue&) = delete;

  // Begins a life with that stream; of a lane that is nobody's.
  void attach(const queue_key& key);
  // The stream is gone, or is another one: no more points. What is under way goes on. Afterwards,
  // or when the last point is settled, the lane is given back for another life.
  void detach() noexcept;
  [[nodiscard]] const queue_key& key() const noexcept { return key_; }
  // Whose point it is; with a closed handle if that is known no more.
  [[nodiscard]] queue_key key_of(std::uint64_t ticket) const noexcept;
  // Which of its lives it is in; any will do for one that no other stream can take over meanwhile.
  [[nodiscard]] std::uint64_t generation() const noexcept {
    return generation_.load(std::memory_order_relaxed);
  }
  static constexpr std::uint64_t any_generation = 0;
  // The same in all lives: so is the device.
  [[nodiscard]] reactor& owner() const noexcept { return owner_; }
  [[nodiscard]] bool uses_engine() const noexcept {
    return services() != nullptr;
  }  // by the engine
  [[nodiscard]] bool failed() const noexcept {
    return failure_.load(std::memory_order_acquire) != errc::success;
  }
  // Is nothing under way? Asks. Nobody minds then if it is detached.
  [[nodiscard]] bool idle() noexcept;

  // The end of all that the stream was given so far, as a ticket. Refuses a stream that captures,
  // with nothing queued: stream_capture_unsupported, or stream_capture_invalidated if the capture
  // is broken. Else what the driver answers, and to which call, if there is one. stale if the lane
  // serves another stream by now, or is in another life. Throws std::bad_alloc.
  // cuStreamIsCapturing, cuEventRecord.
  [[nodiscard]] driver_result add_point(CUstream stream, std::uint64_t generation,
                                        std::uint64_t& ticket);
  static constexpr errc stale = static_cast<errc>(-1'000);

  // Of an event, which is somebody else's, in place of a stream: its point is the only one in this
  // life, at whose end the lane is given back. The event has to be there until then, or is left to
  // the lane: false if it has no use for it any more. Throws std::bad_alloc. cuEventQuery.
  [[nodiscard]] std::uint64_t watch_event(CUevent event);
  [[nodiscard]] std::uint64_t watch_event(const timeline_point& point, const work_context& context);
  [[nodiscard]] bool adopt_event() noexcept;

  // success, not_ready, or what the work failed with: as known; after asking; and after asking
  // unless somebody else does just now, whose question may be older than this call.
  [[nodiscard]] errc known_status(std::uint64_t ticket) const noexcept;
  [[nodiscard]] errc query(std::uint64_t ticket) noexcept;
  [[nodiscard]] errc try_query(std::uint64_t ticket) noexcept;

  // Does somebody wait for this point, or an earlier one, and the reactor's thread asks for him?
  // Never for threads that the reactor's might wait for: its own, and those in sync_wait().
  [[nodiscard]] bool is_polled_by_reactor(std::uint64_t ticket) const noexcept;

  [[nodiscard]] bool add(completion_waiter& waiter, std::uint64_t ticket);
  [[nodiscard]] bool remove(completion_waiter& waiter) noexcept;

  // Asks, and gives those who are to be told now. For the reactor.
  void poll(waiter_list& due) noexcept;
  // If nobody waits the lane takes no further part; it arrives again with the next waiter.
  [[nodiscard]] bool leave_if_no_waiters() noexcept;

  // Gives away what it has no use for: events that a burst has left, or that have failed, and
  // itself if its life is over. For those who have settled points, once they have told.
  void reclaim() noexcept;

  // Asks, if the stream is gone and nobody else will.
  void poll_if_abandoned() noexcept;

  // What the engine has reached is settled, and what has failed; who waited is told.
  void poll_engine() noexcept;

  // The point as the engine knows it; null if nobody waits for it any more, or the lane is asked.
  struct engine_point {
    const engine_services* engine = nullptr;
    timeline_point point;
  };
  [[nodiscard]] engine_point engine_point_of(std::uint64_t ticket) noexcept;
  // Runs, on this thread, what the engine has to run for that point, or for the oldest that
  // somebody waits for: whether there is one, and whether nobody else runs it.
  enum class engine_help : unsigned char { not_needed, shared, exclusive };
  [[nodiscard]] engine_help help_engine(std::uint64_t ticket) noexcept;
  [[nodiscard]] engine_help help_engine() noexcept;

  completion_queue* next = nullptr;  // in the reactor's list, or the pool's
  [[nodiscard]] completion_queue* older() const noexcept { return older_; }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  struct notice : engine_callback {
    completion_queue* queue = nullptr;
  };

  void trim() noexcept;
  [[nodiscard]] bool is_attached_to(CUstream stream,
                                    std::uint64_t in) const noexcept {  // with ring_lock_ held
    return is_attached_ && key_.stream == stream && (in == any_generation || in == generation());
  }
  [[nodiscard]] driver_result add_event_point(CUstream stream, std::uint64_t generation,
                                              std::uint64_t& ticket);
  struct recording_turn;
  [[nodiscard]] driver_result record_event(CUevent& event, CUstream stream) const;
  [[nodiscard]] driver_result add_engine_point(CUstream stream, std::uint64_t generation,
                                               std::uint64_t& ticket);
  [[nodiscard]] errc query_point(std::uint64_t value) const noexcept;
  [[nodiscard]] errc query_locked(std::uint64_t ticket, std::unique_lock<spin_lock> lock) noexcept;
  // With ring_lock_ held.
  [[nodiscard]] bool is_polled_near_front() const noexcept;
  [[nodiscard]] std::uint64_t push(std::uint64_t value) noexcept;
  [[nodiscard]] bool owns_events() const noexcept {
    return services_ == nullptr && (!is_for_event_ || has_adopted_event_);
  }
  void complete_through(std::uint64_t ticket, waiter_list& due) noexcept;
  void take_waiters(pending_point& from, errc outcome, waiter_list& due) noexcept;
  void count_waiter(completion_waiter& waiter, int change) noexcept;
  void find_first_awaited(std::uint64_t from) noexcept;
  void fail(errc outcome, waiter_list& due) noexcept;  // with polling_ held
  void complete_reached(waiter_list& due) noexcept;
  void arm() noexcept;
  [[nodiscard]] bool try_arm() noexcept;
  void fall_back_to_polling() noexcept;
  void release_notice() noexcept;
  static void on_reached(engine_callback& self) noexcept;

  friend completion_queue& acquire_queue(const queue_key& key);

  completion_queue* older_ = nullptr;  // of all there are
  reactor& owner_;
  [[nodiscard]] const engine_services* services() const noexcept {
    return services_.load(std::memory_order_relaxed);
  }

  // What makes a life changes with both locks held, and while nobody notes. A lane with a point in
  // its ring stays what it is while polling_ is held.
  queue_key key_;
  std::atomic<const engine_services*> services_{nullptr};
  void* line_ = nullptr;  // the engine's
  work_context work_context_;

  // All tickets before the one are done; with a failure all others have failed. Never goes back.
  alignas(64) std::atomic<std::uint64_t> completed_{1};
  std::atomic<errc> failure_{errc::success};
  // Changes under ring_lock_. Here, as those who make points and the reactor read it again and
  // again, and hardly ever change it.
  std::atomic<std::uint64_t> first_awaited_{none};

  // The reactor's, as others make points and wait for them: it passes over all lanes again and
  // again.
  alignas(64) spin_lock polling_;  // held by whoever asks the driver; only he takes points away
  std::uint64_t stride_ =
      0;  // how far behind the oldest the next question goes; guarded by polling_, as is the next
  struct {
    std::uint64_t ticket = 0;
    std::uint64_t value = 0;
  } pending_;  // what was asked about last

  alignas(64) mutable spin_lock
      ring_lock_;  // guards the following, for a few nanoseconds at a time
  completion_ring ring_;
  std::atomic<std::uint64_t> first_of_generation_{0};
  std::atomic<std::uint64_t> generation_{any_generation};
  static constexpr std::uint64_t min_trim_threshold = 32;
  std::uint64_t trim_threshold_ =
      min_trim_threshold;      // of so many points those that are done are settled
  int demand_ = 0;             // how many of those who wait need the reactor's thread
  std::vector<CUevent> free_;  // never has to grow when points are settled
  std::atomic<bool> needs_trim_{false};
  bool is_in_reactor_ = false;  // the reactor looks at it
  bool is_attached_ = false;
  bool is_recording_ =
      false;  // an event is being recorded that is in no ring yet; nobody else does
  bool is_for_event_ = false;       // which is the program's
  bool has_adopted_event_ = false;  // no more
  bool is_pooled_ = false;
  int waiting_to_record_ = 0;            // threads
  std::atomic<std::uint32_t> turns_{0};  // how often they were called

  spin_lock arming_;
  std::atomic<std::uint64_t> armed_{0};  // the ticket that the engine is to tell of
  timeline_point armed_point_;           // guarded by arming_
  notice notice_;
  std::atomic<int> notices_{
      0};  // that the engine has, or tells just now; no life ends before they do
};

// A lane that is nobody's, for a stream of that device. Throws std::bad_alloc.
[[nodiscard]] completion_queue& acquire_queue(const queue_key& key);
void release_queue(completion_queue& idle) noexcept;

// All there have ever been, the newest first: lane::older().
[[nodiscard]] completion_queue* newest_queue() noexcept;

}  // namespace weir::detail
