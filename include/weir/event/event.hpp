// SPDX-License-Identifier: Apache-2.0
// weir/event/event.hpp - events: points in a stream's work that other streams and the host can wait
// for.
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

/// The type of weir::external.
struct external_t {
  explicit constexpr external_t() noexcept = default;
};
/// Makes a captured record or wait use the event itself at each launch of the graph:
/// stream_ref::record(event_ref, external_t), stream_ref::wait(event_ref, external_t).
inline constexpr external_t external{};

/// A borrowed event: a point in the work of a stream. Trivially copyable; pass by value. Valid
/// while its owner is alive. Streams record it and wait for it: stream_ref::record(event_ref),
/// stream_ref::wait(event_ref).
///
/// In a capture: for an event that was recorded in a capture, every operation throws
/// `captured_event`; the capture stays valid. After that capture has ended, every operation throws
/// `invalid_value` until the event is recorded again. A record with weir::external is a node of the
/// graph instead, and does not change the event until the graph is launched. Other events may be
/// used. weir cannot detect
/// a capture that was started directly through the driver: the driver then refuses the call and
/// invalidates the capture.
/// In a host function: every operation fails with `not_permitted`.
/// Thread safety: all operations may be called from any thread.
class WEIR_EXPORT event_ref {
 public:
  /// Refers to the event with this handle.
  constexpr explicit event_ref(CUevent_st* handle) noexcept : handle_{handle} {}
  event_ref(int) = delete;  ///< 0 is not an event

  /// Returns true if the work before the last record of the event has finished. The results of that
  /// work can then be read, as after sync(). An event that was never recorded is done.
  ///
  /// Throws: the error of failed work. A failure is never reported as "not done".
  /// Driver: cuEventQuery.
  [[nodiscard]] bool done(call_site at = call_site::current()) const {
    const detail::direct_status answer = detail::query(handle_);
    return answer == detail::direct_status::success ||
           (answer != detail::direct_status::not_ready && done_slow(answer, at));
  }

  /// Like done(), but returns a code and never throws: `success` if the work has finished,
  /// `not_ready` if it is pending, else the error.
  ///
  /// Driver: cuEventQuery.
  [[nodiscard]] errc status() const noexcept {
    const detail::direct_status answer = detail::query(handle_);
    return answer != detail::direct_status::not_called ? detail::to_errc(answer) : status_slow();
  }

  /// Blocks the calling thread until the work before the last record of the event has finished.
  /// Does not throw exceptions of host functions; stream_ref::sync() throws them.
  ///
  /// Throws: the error of failed work.
  /// Driver: cuEventSynchronize.
  void sync(call_site at = call_site::current()) const;

  /// Like sync(), with a timeout. Returns false on timeout; the work continues. The thread polls,
  /// at first without a pause, later with sleeps in between.
  ///
  /// Throws: as sync().
  /// Driver: cuEventQuery.
  template <detail::duration_like Duration>
  [[nodiscard]] bool sync_for(const Duration& timeout, call_site at = call_site::current()) const {
    return sync_for_nanoseconds(detail::nanoseconds(timeout), at);
  }
  /// Like sync(), with a deadline. Returns false if the deadline passes first; the work continues.
  ///
  /// Throws: as sync().
  /// Driver: cuEventQuery.
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool sync_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return sync_for_nanoseconds(detail::nanoseconds_until(deadline), at);
  }

  /// Returns a completion for the work before the last record: an object that can be awaited,
  /// waited for or queried. Include weir/completion/completion.hpp. It is complete if the event was
  /// never recorded.
  ///
  /// The event may be recorded again, or destroyed through weir, at any time. If it is recorded
  /// again, a pending completion may refer to the new record. The reactor of the calling thread's
  /// current device, a thread of weir, polls the event. On a GPU all pending completions of one
  /// event share a reactor.
  ///
  /// In a capture: as done(). On a GPU, recording the event in a capture throws `illegal_state`
  /// while a completion of it is pending.
  /// Driver: cuEventQuery.
  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const;

  /// Returns the raw handle.
  [[nodiscard]] constexpr CUevent_st* get() const noexcept { return handle_; }
  /// Converts to the raw handle.
  constexpr operator CUevent_st*() const noexcept { return handle_; }
  /// Returns true if both name one event.
  friend constexpr bool operator==(event_ref a, event_ref b) noexcept {
    return a.handle_ == b.handle_;
  }

 protected:
  /// Replaces the handle and returns the previous one. Called by the owner.
  CUevent_st* exchange_handle(CUevent_st* replacement) noexcept {
    CUevent_st* const previous = handle_;
    handle_ = replacement;
    return previous;
  }

 private:
  // The functions with the suffix _slow complete an operation whose direct driver call did not
  // return success. `answer` is the result of that call. They report its error or, if it did not
  // reach the driver, make the full call.
  [[nodiscard]] bool done_slow(detail::direct_status answer, call_site at) const;
  [[nodiscard]] errc status_slow() const noexcept;
  [[nodiscard]] bool sync_for_nanoseconds(long long timeout, call_site at) const;

  CUevent_st* handle_;
};

static_assert(std::is_trivially_copyable_v<event_ref> && sizeof(event_ref) == sizeof(void*));

/// Options for creating an event.
struct event_options {
  /// Makes a host thread that waits for the event sleep (41 us to wake up on an H200) instead of
  /// spin (4 us).
  bool blocking_sync = false;
};

/// An owned event without timing. Derives from event_ref, so it has all operations of an event_ref
/// and can be passed wherever one is expected.
///
/// Move-only. A moved-from or closed event throws `closed` when used.
///
/// Thread safety: the operations of event_ref may be called from any thread. Moving and closing
/// need external synchronisation.
/// Cost: recording takes 223 ns on an H200, and no GPU time.
///
/// Do not assign through an `event_ref&` that is bound to an owner, and do not delete an owner as
/// its base: the event would leak, or be destroyed twice.
class WEIR_EXPORT event : public event_ref {
 public:
  /// Creates an event on the primary context of the device. The event is not recorded yet;
  /// stream_ref::record() creates and records one.
  ///
  /// In a capture: allowed.
  /// Driver: cuEventCreate.
  explicit event(weir::device gpu, event_options options = {}, call_site at = call_site::current());
  /// Creates an event on a context. The event is not recorded yet; stream_ref::record() creates and
  /// records one.
  ///
  /// In a capture: allowed.
  /// Driver: cuEventCreate.
  explicit event(context_ref context, event_options options = {},
                 call_site at = call_site::current());

  /// Takes ownership of an existing event, which belongs to `context`. weir cannot query the
  /// options, so the caller passes them.
  ///
  /// Throws: `invalid_handle` for null.
  [[nodiscard]] static event adopt(CUevent_st* handle, context_ref context,
                                   event_options options = {}, call_site at = call_site::current());

  event(event&& other) noexcept;
  event& operator=(event&& other) noexcept;
  /// Destroys the event without blocking. If a completion of the event is pending, the event is
  /// destroyed when that completion ends. Errors go to the unhandled-error handler
  /// (set_unhandled_error_handler).
  ~event();

  /// Destroys the event now. Does nothing if the event is closed already.
  ///
  /// Throws: the driver's error.
  /// Driver: cuEventDestroy.
  void close(call_site at = call_site::current());
  /// Returns true if the event was closed, released or moved from.
  [[nodiscard]] bool closed() const noexcept {
    return get() == detail::closed_handle<CUevent_st>();
  }

  /// Gives up ownership and returns the handle, which the caller has to destroy. The object is
  /// closed afterwards.
  [[nodiscard]] CUevent_st* release(call_site at = call_site::current());

  /// Like event_ref::completion(), but the reactor of the event's own device polls it.
  ///
  /// In a capture: as done(). On a GPU, recording the event in a capture throws `illegal_state`
  /// while a completion of it is pending.
  /// Driver: cuEventQuery.
  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const;

  /// Returns the device of the event, without a driver call.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  /// Returns the context of the event, without a driver call.
  [[nodiscard]] context_ref context(call_site at = call_site::current()) const;
  /// Returns event_options::blocking_sync as it was given.
  [[nodiscard]] bool blocking_sync() const noexcept { return properties_.options.blocking_sync; }

  /// Returns the reference to this event.
  [[nodiscard]] event_ref ref() const noexcept { return *this; }

 private:
  friend class timed_event;
  friend class ipc_event;
  struct properties {
    CUctx_st* context;
    int device;
    event_options options;
    bool created_with_timing;  ///< created by weir, with timing; false if unknown (adopted)
  };
  event(CUevent_st* handle, const properties& known) noexcept
      : event_ref{handle}, properties_{known} {}
  /// Creates an event with the flags of cuEventCreate in `flags` and `options`.
  static event make(CUctx_st* context, event_options options, unsigned flags, call_site at);

  properties properties_;
};

static_assert(!std::is_copy_constructible_v<event> && !std::is_constructible_v<event, event_ref> &&
              !std::is_assignable_v<event&, event_ref>);

/// A borrowed event that was created with timing. Trivially copyable; pass by value. It is an
/// event_ref as well. elapsed() takes this type, so that passing an event without timing is a
/// compile error.
///
/// Thread safety: all operations may be called from any thread.
class timed_event_ref : public event_ref {
 public:
  /// Refers to the event with this handle. The caller guarantees that the event was created with
  /// timing; otherwise elapsed() throws `timing_disabled` or `invalid_handle`.
  constexpr explicit timed_event_ref(CUevent_st* handle) noexcept : event_ref{handle} {}
  timed_event_ref(int) = delete;

  /// Returns true if weir created the event, so that it certainly has timing. Returns false for an
  /// adopted event and for a raw handle.
  [[nodiscard]] constexpr bool created_with_timing() const noexcept { return created_with_timing_; }

 private:
  friend class timed_event;
  constexpr timed_event_ref(CUevent_st* handle, bool created_with_timing) noexcept
      : event_ref{handle}, created_with_timing_{created_with_timing} {}

  bool created_with_timing_ = false;
};

static_assert(std::is_trivially_copyable_v<timed_event_ref>);

/// An owned event with timing. Derives from event and behaves like it.
///
/// Thread safety: as event.
/// Cost: recording takes 1357 ns on an H200, and 2 us of GPU time.
class WEIR_EXPORT timed_event : public event {
 public:
  /// Creates an event with timing on the primary context of the device. The event is not recorded
  /// yet; stream_ref::record_timed() creates and records one.
  ///
  /// In a capture: allowed.
  /// Driver: cuEventCreate.
  explicit timed_event(weir::device gpu, event_options options = {},
                       call_site at = call_site::current());
  /// Creates an event with timing on a context. The event is not recorded yet;
  /// stream_ref::record_timed() creates and records one.
  ///
  /// In a capture: allowed.
  /// Driver: cuEventCreate.
  explicit timed_event(context_ref context, event_options options = {},
                       call_site at = call_site::current());
  /// Takes ownership of an existing event, which belongs to `context`. weir cannot query the
  /// options, so the caller passes them. The caller guarantees that it was created with timing.
  ///
  /// Throws: `invalid_handle` for null.
  [[nodiscard]] static timed_event adopt(CUevent_st* handle, context_ref context,
                                         event_options options = {},
                                         call_site at = call_site::current());

  /// Converts to the reference that elapsed() takes.
  operator timed_event_ref() const noexcept { return ref(); }
  /// Returns the reference to this event.
  [[nodiscard]] timed_event_ref ref() const noexcept {
    return timed_event_ref{get(), properties_.created_with_timing};
  }

 private:
  explicit timed_event(event&& source) noexcept : event{static_cast<event&&>(source)} {}
};

/// Returns the milliseconds between two records, with a resolution of about half a microsecond. The
/// result is negative if `end` was recorded first. Does not wait.
///
/// Throws (an error is never reported as the result 0):
/// - `not_recorded` if an event was never recorded
/// - `timing_disabled` if a foreign event was created without timing
/// - `not_ready` if an event is not complete yet
/// - `invalid_context` if the events belong to different contexts
/// - `invalid_handle` if a foreign event was either not recorded or created without timing
/// - `captured_event` for an event that was recorded in an open capture, and `invalid_value` after
///   that capture has ended; such an event has no time unless it was recorded with weir::external
/// In a capture: allowed for events that were recorded outside of it.
/// Driver: cuEventElapsedTime.
[[nodiscard]] WEIR_EXPORT float elapsed(timed_event_ref start, timed_event_ref end,
                                        call_site at = call_site::current());

/// Waits for both events, then returns the milliseconds between their records, as elapsed().
///
/// Throws: as elapsed(), and the error of failed work.
/// Driver: cuEventSynchronize, cuEventElapsedTime.
[[nodiscard]] WEIR_EXPORT float sync_elapsed(timed_event_ref start, timed_event_ref end,
                                             call_site at = call_site::current());

}  // namespace weir

template <>
struct std::hash<weir::event_ref> {
  [[nodiscard]] std::size_t operator()(weir::event_ref e) const noexcept {
    return reinterpret_cast<std::size_t>(e.get());
  }
};
