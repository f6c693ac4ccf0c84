// weir/event/event.hpp - points in a stream's work that other streams and the host can wait for.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/direct_call.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>

#include <type_traits>
#include <typeindex>  // the cheapest header with std::hash

namespace weir {

class completion;
class context_ref;
class device;
class stream_ref;

// A point in the work of a stream, borrowed: valid while its owner is. Trivially copyable; pass by
// value. It is recorded and waited for by streams: stream_ref::record(event_ref),
// stream_ref::wait(event_ref). Thread safety: any operation from any thread. In a host function:
// refused (not_permitted). In a capture: an event that was recorded in a capture answers
// captured_event to all of these, and the capture lives on. After the capture's end such an event
// answers invalid_value, until it is recorded again. Other events: allowed. Of captures that were
// started directly through the driver nothing is known; there the driver refuses, and drops the
// capture.
class WEIR_EXPORT event_ref {
 public:
  constexpr explicit event_ref(CUevent_st* handle) noexcept : handle_{handle} {}
  event_ref(int) = delete;  // 0 is not an event

  // Has the work before the last record finished? An event never recorded has. Throws what that
  // work failed with: an error is never "not done". Done means as much as after sync(): what the
  // work wrote can be read. cuEventQuery.
  [[nodiscard]] bool done(call_site at = call_site::current()) const {
    const errc answer = detail::query(handle_);
    return answer == errc::success || (answer != errc::not_ready && done_slow(answer, at));
  }

  // The same as a code, for loops that poll: success (done), not_ready (pending), or what went
  // wrong.
  [[nodiscard]] errc try_done() const noexcept {
    const errc answer = detail::query(handle_);
    return answer != detail::not_called ? answer : try_done_slow();
  }

  // Blocks the calling thread until then, and throws what the work failed with. cuEventSynchronize.
  void sync(call_site at = call_site::current()) const;

  // The same with an end: false if the time passed first. The work goes on. The thread polls at
  // once, later sleeps between. cuEventQuery.
  template <detail::duration_like Duration>
  [[nodiscard]] bool sync_for(const Duration& timeout, call_site at = call_site::current()) const {
    return sync_for_nanoseconds(detail::nanoseconds(timeout), at);
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool sync_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return sync_for_nanoseconds(detail::nanoseconds_until(deadline), at);
  }

  // The end of the work before the last record, to be awaited, waited for or asked
  // (weir/completion/completion.hpp). An event never recorded is complete. It may be recorded
  // again, or destroyed through weir, at any time; a completion that is pending when it is recorded
  // again may go with the new record. On a GPU it is refused (illegal_state) to record an event in
  // a capture while one is pending. The reactor of the device that the calling thread uses looks
  // after it, or that of the event's own device where it is asked for as an event; on a GPU while
  // one is pending all others of the event are where that is. In a capture: as done().
  // cuEventQuery.
  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const;

  [[nodiscard]] constexpr CUevent_st* get() const noexcept { return handle_; }
  constexpr operator CUevent_st*() const noexcept { return handle_; }
  friend constexpr bool operator==(event_ref a, event_ref b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  // After a direct call that did not succeed: throws what it answered, or, if the driver was not
  // asked, makes the whole call.
  [[nodiscard]] bool done_slow(errc answer, call_site at) const;
  [[nodiscard]] errc try_done_slow() const noexcept;
  [[nodiscard]] bool sync_for_nanoseconds(long long timeout, call_site at) const;

  CUevent_st* handle_;
};

static_assert(std::is_trivially_copyable_v<event_ref> && sizeof(event_ref) == sizeof(void*));

struct event_options {
  // Does a host thread that waits for it sleep (41 us to wake on an H200) instead of spin (4 us)?
  bool blocking_sync = false;
};

// An event of our own, without timing: recording it costs 223 ns on an H200, and nothing of the
// GPU's time. Move-only; moved-from and closed ones answer `closed` when used. It converts to its
// reference and has its operations. Thread safety: the reference's operations from any thread;
// moving and closing as any object.
class WEIR_EXPORT event {
 public:
  // Makes an event that was never recorded. stream_ref::record() makes one that is. In a capture:
  // allowed. cuEventCreate.
  explicit event(weir::device gpu, event_options options = {}, call_site at = call_site::current());
  explicit event(context_ref context, event_options options = {},
                 call_site at = call_site::current());

  // Takes over an event of that context; from now on it is ours to destroy. Null is refused
  // (invalid_handle).
  [[nodiscard]] static event adopt(CUevent_st* handle, context_ref context,
                                   event_options options = {}, call_site at = call_site::current());

  event(event&& other) noexcept;
  event& operator=(event&& other) noexcept;
  // Never blocks: an event that is still pending goes when it completes. What fails goes to
  // set_unhandled_error_handler.
  ~event();

  // Destroys it now and reports what fails; does nothing a second time. cuEventDestroy.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept {
    return handle_ == detail::closed_handle<CUevent_st>();
  }

  // Gives the handle up; its destruction is the caller's. The object is closed.
  [[nodiscard]] CUevent_st* release(call_site at = call_site::current());

  [[nodiscard]] bool done(call_site at = call_site::current()) const { return ref().done(at); }
  [[nodiscard]] errc try_done() const noexcept { return ref().try_done(); }
  void sync(call_site at = call_site::current()) const { ref().sync(at); }
  template <detail::duration_like Duration>
  [[nodiscard]] bool sync_for(const Duration& timeout, call_site at = call_site::current()) const {
    return ref().sync_for(timeout, at);
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool sync_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return ref().sync_until(deadline, at);
  }

  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const;

  // Known since it was made; no driver call.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  [[nodiscard]] context_ref context(call_site at = call_site::current()) const;
  [[nodiscard]] bool blocking_sync() const noexcept { return options_.blocking_sync; }

  [[nodiscard]] CUevent_st* get() const noexcept { return handle_; }
  operator CUevent_st*() const noexcept { return handle_; }
  operator event_ref() const noexcept { return ref(); }
  [[nodiscard]] event_ref ref() const noexcept { return event_ref{handle_}; }
  friend bool operator==(const event& a, const event& b) noexcept { return a.handle_ == b.handle_; }

 private:
  friend class timed_event;
  enum class timing : bool { off, on };
  event(CUevent_st* handle, CUctx_st* context, int device, event_options options) noexcept
      : handle_{handle}, context_{context}, device_{device}, options_{options} {}
  static event make(CUctx_st* context, event_options options, timing timing, call_site at);

  CUevent_st* handle_;
  CUctx_st* context_;
  int device_;
  event_options options_;
};

// A point that also has a time, borrowed. A type of its own, so that asking an event without timing
// for its time does not compile. Trivially copyable; pass by value. It is an event_ref as well.
class timed_event_ref {
 public:
  // The caller vouches that the event was made with timing; elapsed() says so if not.
  constexpr explicit timed_event_ref(CUevent_st* handle) noexcept : handle_{handle} {}
  timed_event_ref(int) = delete;

  [[nodiscard]] constexpr CUevent_st* get() const noexcept { return handle_; }
  constexpr operator CUevent_st*() const noexcept { return handle_; }
  constexpr operator event_ref() const noexcept { return event_ref{handle_}; }
  [[nodiscard]] constexpr bool created_with_timing() const noexcept { return created_by_weir_; }
  friend constexpr bool operator==(timed_event_ref a, timed_event_ref b) noexcept {
    return a.handle_ == b.handle_;
  }

 private:
  friend class timed_event;
  constexpr timed_event_ref(CUevent_st* handle, bool created_by_weir) noexcept
      : handle_{handle}, created_by_weir_{created_by_weir} {}

  CUevent_st* handle_;
  bool created_by_weir_ = false;
};

static_assert(std::is_trivially_copyable_v<timed_event_ref>);

// An event of our own, with timing: recording it costs 1357 ns on an H200, and 2 us of the GPU's
// time. Everything that holds for event holds for it.
class WEIR_EXPORT timed_event {
 public:
  // Makes one that was never recorded. stream_ref::record_timed() makes one that is. cuEventCreate.
  explicit timed_event(weir::device gpu, event_options options = {},
                       call_site at = call_site::current());
  explicit timed_event(context_ref context, event_options options = {},
                       call_site at = call_site::current());
  [[nodiscard]] static timed_event adopt(CUevent_st* handle, context_ref context,
                                         event_options options = {},
                                         call_site at = call_site::current());

  void close(call_site at = call_site::current()) { event_.close(at); }
  [[nodiscard]] bool closed() const noexcept { return event_.closed(); }
  [[nodiscard]] CUevent_st* release(call_site at = call_site::current()) {
    return event_.release(at);
  }

  [[nodiscard]] bool done(call_site at = call_site::current()) const { return event_.done(at); }
  [[nodiscard]] errc try_done() const noexcept { return event_.try_done(); }
  void sync(call_site at = call_site::current()) const { event_.sync(at); }
  template <detail::duration_like Duration>
  [[nodiscard]] bool sync_for(const Duration& timeout, call_site at = call_site::current()) const {
    return event_.sync_for(timeout, at);
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool sync_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return event_.sync_until(deadline, at);
  }

  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const;

  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  [[nodiscard]] context_ref context(call_site at = call_site::current()) const;
  [[nodiscard]] bool blocking_sync() const noexcept { return event_.blocking_sync(); }

  [[nodiscard]] CUevent_st* get() const noexcept { return event_.get(); }
  operator CUevent_st*() const noexcept { return event_.get(); }
  operator event_ref() const noexcept { return event_.ref(); }
  operator timed_event_ref() const noexcept { return ref(); }
  [[nodiscard]] timed_event_ref ref() const noexcept {
    return timed_event_ref{event_.get(), created_by_weir_};
  }
  friend bool operator==(const timed_event& a, const timed_event& b) noexcept {
    return a.event_ == b.event_;
  }

 private:
  timed_event(event&& event, bool created_by_weir) noexcept
      : event_{static_cast<weir::event&&>(event)}, created_by_weir_{created_by_weir} {}

  event event_;
  bool created_by_weir_ = true;  // made by weir, so certainly with timing
};

// The milliseconds between two records, in steps of about half a microsecond; negative if `end` was
// recorded first. Does not wait, and never answers 0 for an error. In a capture: allowed, for
// events recorded outside of it. Fails with
//   not_recorded      one of them was never recorded
//   timing_disabled   one of them, a foreign one, was made without timing
//   not_ready         one of them is not complete yet
//   invalid_context   they belong to different contexts
// and invalid_handle where a foreign event may be any of the first two. cuEventElapsedTime.
[[nodiscard]] WEIR_EXPORT float elapsed(timed_event_ref start, timed_event_ref end,
                                        call_site at = call_site::current());

// The same after waiting for both. cuEventSynchronize, cuEventElapsedTime.
[[nodiscard]] WEIR_EXPORT float sync_elapsed(timed_event_ref start, timed_event_ref end,
                                             call_site at = call_site::current());

}  // namespace weir

template <>
struct std::hash<weir::event_ref> {
  [[nodiscard]] std::size_t operator()(weir::event_ref e) const noexcept {
    return reinterpret_cast<std::size_t>(e.get());
  }
};
