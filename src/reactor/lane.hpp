// reactor/lane.hpp - the work of one stream as numbered points, who waits for them, and how they are found to be done.
#pragma once

#include "driver/engine_services.hpp"
#include "os/spin_lock.hpp"
#include "driver/table.hpp"
#include "reactor/event_store.hpp"
#include "reactor/mark_ring.hpp"
#include "reactor/waiter_list.hpp"

#include <weir/detail/closed.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/core/errc.hpp>

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

namespace weir::detail {

class reactor;

// Which stream a lane is about. Of default streams each context has its own, and of per-thread ones each thread; a foreign
// stream's handle may come back as another stream, and so its driver's number belongs to it.
struct lane_place {
  CUstream stream = closed_handle<CUstream_st>();
  CUcontext context = nullptr;
  unsigned long long context_number = 0;
  unsigned long long identity = 0;  // a thread's number, a stream's id; 0 where the handle says it all
  int device = 0;

  friend bool operator==(const lane_place&, const lane_place&) noexcept = default;
};

// Points come in the order of the stream's work and are settled from the front: if one is done so are all before it. On a
// GPU a point is an event, and only the oldest one that somebody waits for is asked, then those behind it in steps that
// double. On the embedded driver it is a count, and the engine tells when it is reached.
//
// Thread safety: all members, from any thread, but for attach().
class lane {
 public:
  explicit lane(reactor& home) : home_{home} {}
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  // Begins a life with that stream; of a lane that is nobody's.
  void attach(const lane_place& where);
  // The stream is gone, or is another one: no more points. What is under way goes on. Afterwards, or when the last point is
  // settled, the lane is given back for another life.
  void detach() noexcept;
  [[nodiscard]] const lane_place& place() const noexcept { return place_; }
  // Whose point it is; with a closed handle if that is known no more.
  [[nodiscard]] lane_place place_of(std::uint64_t ticket) const noexcept;
  // Which of its lives it is in; any will do for one that no other stream can take over meanwhile.
  [[nodiscard]] std::uint64_t life() const noexcept { return life_.load(std::memory_order_relaxed); }
  static constexpr std::uint64_t any_life = 0;
  // The same in all lives: so is the device.
  [[nodiscard]] reactor& home() const noexcept { return home_; }
  [[nodiscard]] bool is_told() const noexcept { return services() != nullptr; }  // by the engine
  [[nodiscard]] bool failed() const noexcept { return failure_.load(std::memory_order_acquire) != errc::success; }
  // Is nothing under way? Asks. Nobody minds then if it is detached.
  [[nodiscard]] bool idle() noexcept;

  // The end of all that the stream was given so far, as a ticket. Refuses a stream that captures, with nothing queued:
  // stream_capture_unsupported, or stream_capture_invalidated if the capture is broken. Else what the driver answers, and
  // to which call, if there is one. moved_on if the lane serves another stream by now, or is in another life. Throws
  // std::bad_alloc. cuStreamIsCapturing, cuEventRecord.
  [[nodiscard]] call_outcome note(CUstream stream, std::uint64_t life, std::uint64_t& ticket);
  static constexpr errc moved_on = static_cast<errc>(-1'000);

  // Of an event, which is somebody else's, in place of a stream: its point is the only one in this life, at whose end the
  // lane is given back. The event has to be there until then, or is left to the lane: false if it has no use for it any
  // more. Throws std::bad_alloc. cuEventQuery.
  [[nodiscard]] std::uint64_t note_only(CUevent event);
  [[nodiscard]] std::uint64_t note_only(const work_point& point, const work_home& where);
  [[nodiscard]] bool leave_event() noexcept;

  // success, not_ready, or what the work failed with: as known; after asking; and after asking unless somebody else does
  // just now, whose question may be older than this call.
  [[nodiscard]] errc known(std::uint64_t ticket) const noexcept;
  [[nodiscard]] errc ask(std::uint64_t ticket) noexcept;
  [[nodiscard]] errc ask_unless_asked(std::uint64_t ticket) noexcept;

  // Does somebody wait for this point, or an earlier one, and the reactor's thread asks for him? Never for threads that the
  // reactor's might wait for: its own, and those in sync_wait().
  [[nodiscard]] bool is_being_asked(std::uint64_t ticket) const noexcept;

  [[nodiscard]] bool add(completion_waiter& who, std::uint64_t ticket);
  [[nodiscard]] bool remove(completion_waiter& who) noexcept;

  // Asks, and gives those who are to be told now. For the reactor.
  void poll(waiter_list& due) noexcept;
  // If nobody waits the lane takes no further part; it arrives again with the next waiter.
  [[nodiscard]] bool leave_if_unawaited() noexcept;

  // Gives away what it has no use for: events that a burst has left, or that have failed, and itself if its life is over.
  // For those who have settled points, once they have told.
  void tidy() noexcept;

  // Asks, if the stream is gone and nobody else will.
  void ask_if_abandoned() noexcept;

  // What the engine has reached is settled, and what has failed; who waited is told.
  void look_again() noexcept;

  // The point as the engine knows it; null if nobody waits for it any more, or the lane is asked.
  struct engine_point {
    const engine_services* engine = nullptr;
    work_point what;
  };
  [[nodiscard]] engine_point in_engine(std::uint64_t ticket) noexcept;
  // Runs, on this thread, what the engine has to run for that point, or for the oldest that somebody waits for: whether there is
  // one, and whether nobody else runs it.
  enum class help : unsigned char { of_no_use, beside_others, alone };
  [[nodiscard]] help help_engine(std::uint64_t ticket) noexcept;
  [[nodiscard]] help help_engine() noexcept;

  lane* next = nullptr;  // in the reactor's list, or the pool's
  [[nodiscard]] lane* older() const noexcept { return older_; }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  struct notice : engine_notice {
    lane* of = nullptr;
  };

  void make_way() noexcept;
  [[nodiscard]] bool serves(CUstream stream, std::uint64_t in) const noexcept {  // with ring_lock_ held
    return attached_ && place_.stream == stream && (in == any_life || in == life());
  }
  [[nodiscard]] call_outcome note_event(CUstream stream, std::uint64_t life, std::uint64_t& ticket);
  struct turn;
  [[nodiscard]] call_outcome record(CUevent& event, CUstream stream) const;
  [[nodiscard]] call_outcome note_point(CUstream stream, std::uint64_t life, std::uint64_t& ticket);
  [[nodiscard]] errc query(std::uint64_t what) const noexcept;
  [[nodiscard]] errc ask_alone(std::uint64_t ticket, std::unique_lock<spin_lock> asking) noexcept;
  // With ring_lock_ held.
  [[nodiscard]] bool are_asked_for() const noexcept;
  [[nodiscard]] std::uint64_t push(std::uint64_t what) noexcept;
  [[nodiscard]] bool owns_marks() const noexcept { return services_ == nullptr && (!of_an_event_ || event_is_left_); }
  void settle_through(std::uint64_t ticket, waiter_list& due) noexcept;
  void take_waiters(marked_point& from, errc outcome, waiter_list& due) noexcept;
  void count(completion_waiter& who, int change) noexcept;
  void find_first_awaited(std::uint64_t from) noexcept;
  void fail(errc outcome, waiter_list& due) noexcept;  // with polling_ held
  void settle_reached(waiter_list& due) noexcept;
  void arm() noexcept;
  [[nodiscard]] bool arm_or_say_reached() noexcept;
  void ask_instead() noexcept;
  void drop_notice() noexcept;
  static void told(engine_notice& self) noexcept;

  friend lane& acquire_lane(const lane_place& where);

  lane* older_ = nullptr;  // of all there are
  reactor& home_;
  [[nodiscard]] const engine_services* services() const noexcept { return services_.load(std::memory_order_relaxed); }

  // What makes a life changes with both locks held, and while nobody notes. A lane with a point in its ring stays what it is while polling_ is held.
  lane_place place_;
  std::atomic<const engine_services*> services_{nullptr};
  void* line_ = nullptr;  // the engine's
  work_home work_home_;

  // All tickets before the one are done; with a failure all others have failed. Never goes back.
  alignas(64) std::atomic<std::uint64_t> settled_{1};
  std::atomic<errc> failure_{errc::success};
  // Changes under ring_lock_. Here, as those who make points and the reactor read it again and again, and hardly ever change it.
  std::atomic<std::uint64_t> first_awaited_{none};

  // The reactor's, as others make points and wait for them: it passes over all lanes again and again.
  alignas(64) spin_lock polling_;  // held by whoever asks the driver; only he takes points away
  std::uint64_t stride_ = 0;  // how far behind the oldest the next question goes; guarded by polling_, as is the next
  struct {
    std::uint64_t ticket = 0;
    std::uint64_t what = 0;
  } pending_;  // what was asked about last

  alignas(64) mutable spin_lock ring_lock_;  // guards the following, for a few nanoseconds at a time
  mark_ring ring_;
  std::atomic<std::uint64_t> first_of_life_{0};
  std::atomic<std::uint64_t> life_{any_life};
  static constexpr std::uint64_t smallest_crowd = 32;
  std::uint64_t crowd_ = smallest_crowd;  // of so many points those that are done are settled
  int needing_ = 0;                       // how many of those who wait need the reactor's thread
  std::vector<CUevent> free_;             // never has to grow when points are settled
  std::atomic<bool> is_crowded_{false};
  bool arrived_ = false;  // the reactor looks at it
  bool attached_ = false;
  bool is_noting_ = false;      // an event is being recorded that is in no ring yet; nobody else does
  bool of_an_event_ = false;    // which is the program's
  bool event_is_left_ = false;  // no more
  bool pooled_ = false;
  int waiting_to_note_ = 0;              // threads
  std::atomic<std::uint32_t> turns_{0};  // how often they were called

  spin_lock arming_;
  std::atomic<std::uint64_t> armed_{0};  // the ticket that the engine is to tell of
  work_point armed_point_;               // guarded by arming_
  notice notice_;
  std::atomic<int> notices_{0};  // that the engine has, or tells just now; no life ends before they do
};

// A lane that is nobody's, for a stream of that device. Throws std::bad_alloc.
[[nodiscard]] lane& acquire_lane(const lane_place& where);
void give_back_lane(lane& idle) noexcept;

// All there have ever been, the newest first: lane::older().
[[nodiscard]] lane* newest_lane() noexcept;

}  // namespace weir::detail
