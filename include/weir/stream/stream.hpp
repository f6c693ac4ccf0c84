// SPDX-License-Identifier: Apache-2.0
// weir/stream/stream.hpp - streams: ordered queues of work for a device. Longer than 400 lines,
// because every member has its manual page here.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/closed.hpp>
#include <weir/detail/direct_call.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/stream/foreign_stream.hpp>

#include <initializer_list>
#include <type_traits>
#include <typeindex>  // the cheapest header with std::hash

namespace weir {

class completion;
class context_ref;
namespace detail {
class stream_state;

// A range of streams or events, such as a std::vector<stream> or a std::span<const event_ref>.
template <class T>
concept range_to_wait_for = requires(const T& many) {
  many.begin();
  many.end();
};
}  // namespace detail

/// A borrowed stream: an ordered queue of work for a device. Trivially copyable; pass by value.
/// Valid while its owner is alive.
///
/// Converts implicitly from an owner, from a raw handle (CUstream, cudaStream_t) and from stream
/// types of other libraries (cuda::stream_ref, rmm::cuda_stream_view), and back to all of those.
/// Use shared_stream to also keep a foreign owner alive.
///
/// Operations run in the order in which they are called. A call that fails throws weir::error;
/// include weir/core/error.hpp to catch it. An error of the stream's work is reported by done() and
/// sync() with the driver's code. After such an error nearly every call on the context fails;
/// context_ref::status() returns it.
///
/// In a capture: the driver's capture rules apply; the comment of each operation says which.
/// In a host function: every operation fails with `not_permitted`.
/// Thread safety: all operations may be called from any thread.
class WEIR_EXPORT stream_ref {
 public:
  /// Refers to the stream with this handle. A null handle is the legacy default stream.
  constexpr stream_ref(CUstream_st* handle) noexcept : handle_{handle} {}
  /// Refers to the stream of another library's object.
  template <stream_source S>
  constexpr stream_ref(const S& other) noexcept : handle_{detail::raw_stream(other)} {}
  stream_ref(int) = delete;  ///< 0 is not a stream; use legacy() or per_thread()
  stream_ref(decltype(nullptr)) = delete;

  /// Returns the legacy default stream of the context that is current at each use. All threads
  /// share it. Its work and the work of blocking streams (stream_kind::blocking) wait for each
  /// other. It is never destroyed. If no context is current, operations throw `invalid_context`;
  /// context_scope (weir/device/context.hpp) makes one current.
  [[nodiscard]] static stream_ref legacy() noexcept;
  /// Returns the per-thread default stream. This reference means a different stream in each thread
  /// that uses it. It needs a current context, as legacy() does.
  [[nodiscard]] static stream_ref per_thread() noexcept;

  // Waits on the device. These operations do not block the host.

  /// Creates an event and records it after the work queued so far.
  ///
  /// In a capture: allowed; the event can then only be waited for within that capture.
  /// Driver: cuEventCreate, cuEventRecord.
  [[nodiscard]] event record(call_site at = call_site::current()) const;
  /// Creates an event with timing and records it after the work queued so far. Use two of them with
  /// elapsed().
  ///
  /// In a capture: allowed; the event can then only be waited for within that capture, and has no
  /// time. To time a part of a graph, record timed events with weir::external.
  /// Driver: cuEventCreate, cuEventRecord.
  [[nodiscard]] timed_event record_timed(call_site at = call_site::current()) const;
  /// Records an existing event after the work queued so far. The event's previous record is
  /// replaced.
  ///
  /// Throws: `invalid_handle` if the event belongs to another context.
  /// In a capture: allowed; the event can then only be waited for within that capture.
  /// Driver: cuEventRecord.
  void record(event_ref event, call_site at = call_site::current()) const {
    const detail::direct_status answer = detail::record(event.get(), handle_);
    if (answer != detail::direct_status::success) [[unlikely]] {
      record_slow(event, answer, at);
    }
  }

  /// Records an existing event at each launch of the graph that this stream captures, after the
  /// work captured so far: s.record(e, weir::external). Streams outside the graph, and the host,
  /// can then wait for the event. The record becomes a node of the graph. The event must stay open
  /// as long as the graph is launched.
  ///
  /// Throws: `illegal_state` if the stream does not capture; `invalid_handle` if the event belongs
  /// to another context.
  /// Driver: cuEventRecordWithFlags.
  void record(event_ref event, external_t, call_site at = call_site::current()) const;

  /// Makes later work of this stream wait for the work that `event` captured at its last record. A
  /// later record of `event` does not change this wait. An unrecorded event causes no wait. The
  /// event may belong to another device.
  ///
  /// In a capture: an event recorded in a capture makes this stream join that capture. Throws
  /// `stream_capture_merge` if this stream is in another capture; both stay valid. The driver
  /// rejects any other event (`stream_capture_isolation`) and invalidates the capture.
  /// Driver: cuStreamWaitEvent.
  void wait(event_ref event, call_site at = call_site::current()) const {
    const detail::direct_status answer = detail::wait_for(handle_, event.get());
    if (answer != detail::direct_status::success) [[unlikely]] {
      wait_slow(event, answer, at);
    }
  }

  /// Makes later work of this stream wait for all work queued so far in the stream `awaited`.
  /// `awaited` may belong to another device. Does nothing if `awaited` is this stream.
  ///
  /// Records an event that weir caches for each thread and context, so that no event is created at
  /// each call.
  ///
  /// In a capture: if `awaited` captures, this stream joins that capture. Throws
  /// `stream_capture_merge` if both are in different captures, which stay valid. If only this
  /// stream captures, throws `stream_capture_isolation`, and the driver invalidates the capture.
  /// Driver: cuEventRecord, cuStreamWaitEvent.
  void wait(stream_ref awaited, call_site at = call_site::current()) const {
    const detail::direct_status answer = detail::wait_for(handle_, awaited.handle_);
    if (answer != detail::direct_status::success) [[unlikely]] {
      wait_slow(awaited, answer, at);
    }
  }

  /// Makes the work captured later wait, at each launch of the graph, for the last record of
  /// `event` before that launch: s.wait(e, weir::external). The wait becomes a node of the graph.
  /// The event must stay open as long as the graph is launched.
  ///
  /// Throws: `illegal_state` if the stream does not capture.
  /// Driver: cuStreamWaitEvent.
  void wait(event_ref event, external_t, call_site at = call_site::current()) const;

  /// Makes later work of this stream wait for each stream, or each event, of a range:
  /// s.wait(std::vector<weir::stream>{...}). Waits for them in order, as wait() of one.
  ///
  /// Throws: as wait() of one. The waits before the one that failed remain.
  template <detail::range_to_wait_for Many>
  void wait(const Many& many, call_site at = call_site::current()) const {
    for (const auto& each : many) wait(each, at);
  }
  /// Makes later work of this stream wait for each of the given streams: s.wait({t, u}).
  ///
  /// Throws: as wait() of one. The waits before the one that failed remain.
  void wait(std::initializer_list<stream_ref> many, call_site at = call_site::current()) const {
    for (const stream_ref each : many) wait(each, at);
  }

  // Waits on the host.

  /// Returns true if all work queued so far has finished. The results of that work can then be
  /// read, as after sync().
  ///
  /// Throws: the error of failed work. A failure is never reported as "not done".
  /// In a capture: throws `stream_capture_unsupported` if this stream captures; the capture stays
  /// valid. Captures of other streams do not matter. weir cannot detect a capture that was started
  /// directly through the driver: the driver then refuses the call and invalidates the capture.
  /// Driver: cuStreamQuery.
  [[nodiscard]] bool done(call_site at = call_site::current()) const {
    const detail::direct_status answer = detail::query(handle_);
    return answer == detail::direct_status::success ||
           (answer != detail::direct_status::not_ready && done_slow(answer, at));
  }

  /// Like done(), but returns a code and never throws: `success` if all work has finished,
  /// `not_ready` if some is pending, else the error.
  ///
  /// Driver: cuStreamQuery.
  [[nodiscard]] errc status() const noexcept {
    const detail::direct_status answer = detail::query(handle_);
    return answer != detail::direct_status::not_called ? detail::to_errc(answer) : status_slow();
  }

  /// Blocks the calling thread until all work queued so far has finished.
  ///
  /// Throws: the error of failed work; otherwise the first exception that a host function of this
  /// stream threw since the last sync.
  /// In a capture: as done().
  /// Driver: cuStreamSynchronize.
  void sync(call_site at = call_site::current()) const;

  /// Like sync(), with a timeout. Returns false on timeout; the work continues. The thread polls,
  /// at first without a pause, later with sleeps in between.
  ///
  /// Throws: as sync().
  /// In a capture: as done().
  /// Driver: cuEventRecord, cuEventQuery.
  template <detail::duration_like Duration>
  [[nodiscard]] bool sync_for(const Duration& timeout, call_site at = call_site::current()) const {
    return sync_for_nanoseconds(detail::nanoseconds(timeout), at);
  }
  /// Like sync(), with a deadline. Returns false if the deadline passes first; the work continues.
  ///
  /// Throws: as sync().
  /// In a capture: as done().
  /// Driver: cuEventRecord, cuEventQuery.
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool sync_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return sync_for_nanoseconds(detail::nanoseconds_until(deadline), at);
  }

  /// Returns a completion for all work queued so far: an object that any number of callers can
  /// await, wait for or query. Include weir/completion/completion.hpp. At most an event is
  /// recorded; a host function is never queued.
  ///
  /// In a capture: throws `stream_capture_unsupported` with nothing queued if this stream captures,
  /// or `stream_capture_invalidated` if its capture is invalidated. The capture stays valid, even
  /// if it was started directly through the driver.
  /// Driver: cuStreamIsCapturing, cuEventRecord.
  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const;

  /// Calls f(stream), which queues work, and returns a future for the result of f. Include
  /// weir/completion/future.hpp. The result is kept until the work has finished, even if the future
  /// is dropped.
  ///
  /// Throws: what f throws. Work that f queued before it threw still runs, so the memory that the
  /// work uses must stay valid.
  /// In a capture: as completion(); throws before f is called.
  template <class F>
  [[nodiscard]] auto enqueue(F&& f, call_site at = call_site::current()) const;

  // Properties. weir caches the properties of the streams that it created or adopted, and makes no
  // driver call for them. For other streams it queries the driver. A query that would invalidate a
  // capture of the stream throws `stream_capture_unsupported` instead. For the default streams the
  // result applies to the context that is current at the call.

  /// Returns a number that is unique in the process and never reused after the stream is destroyed.
  /// weir numbers the streams that it creates; for other streams the number is the driver's.
  ///
  /// Driver: cuStreamGetId.
  [[nodiscard]] unsigned long long id(call_site at = call_site::current()) const;
  /// Returns the context of the stream.
  ///
  /// Driver: cuStreamGetCtx.
  [[nodiscard]] context_ref context(call_site at = call_site::current()) const;
  /// Returns the device of the stream.
  ///
  /// Driver: cuStreamGetCtx, cuCtxGetDevice.
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  /// Returns the priority, which is within the device's range.
  ///
  /// Driver: cuStreamGetPriority.
  [[nodiscard]] int priority(call_site at = call_site::current()) const;
  /// Returns true if the stream is blocking: its work and the work of the legacy default stream
  /// wait for each other.
  ///
  /// Driver: cuStreamGetFlags.
  [[nodiscard]] bool is_blocking(call_site at = call_site::current()) const;
  /// Returns true for the legacy and the per-thread default stream.
  [[nodiscard]] bool is_default() const noexcept;

  /// Returns the raw handle.
  [[nodiscard]] constexpr CUstream_st* get() const noexcept { return handle_; }
  /// Converts to the raw handle.
  constexpr operator CUstream_st*() const noexcept { return handle_; }
  /// Converts to another library's stream reference type.
  template <foreign_stream R>
  constexpr operator R() const {
    return R{handle_};
  }

  /// Returns true if both name one stream. A null handle equals legacy().
  friend bool operator==(stream_ref a, stream_ref b) noexcept { return a.token() == b.token(); }
  /// Returns true if the stream has this handle.
  friend bool operator==(stream_ref a, CUstream_st* b) noexcept { return a == stream_ref{b}; }
  friend bool operator==(stream_ref,
                         decltype(nullptr)) = delete;  // a stream is not compared with 0
  /// Compares with another library's stream. The two types convert to each other, so without these
  /// overloads the comparison would be ambiguous.
  template <stream_source S>
  friend bool operator==(stream_ref a, const S& b) noexcept {
    return a == stream_ref{b};
  }
  /// Compares with another library's stream.
  template <stream_source S>
  friend bool operator==(const S& a, stream_ref b) noexcept {
    return stream_ref{a} == b;
  }

 protected:
  /// Replaces the handle and returns the previous one. Called by the owner.
  CUstream_st* exchange_handle(CUstream_st* replacement) noexcept {
    CUstream_st* const previous = handle_;
    handle_ = replacement;
    return previous;
  }

 private:
  friend struct std::hash<stream_ref>;
  [[nodiscard]] __UINTPTR_TYPE__ token() const noexcept {
    const auto value = reinterpret_cast<__UINTPTR_TYPE__>(handle_);
    return value == 0 ? 1 : value;
  }
  // The functions with the suffix _slow complete an operation whose direct driver call did not
  // return success. `answer` is the result of that call. They report its error or, if it did not
  // reach the driver, make the full call.
  void record_slow(event_ref event, detail::direct_status answer, call_site at) const;
  void wait_slow(event_ref event, detail::direct_status answer, call_site at) const;
  void wait_slow(stream_ref awaited, detail::direct_status answer, call_site at) const;
  [[nodiscard]] bool done_slow(detail::direct_status answer, call_site at) const;
  [[nodiscard]] errc status_slow() const noexcept;
  [[nodiscard]] bool sync_for_nanoseconds(long long timeout, call_site at) const;

  CUstream_st* handle_;
};

static_assert(std::is_trivially_copyable_v<stream_ref> && sizeof(stream_ref) == sizeof(void*));

/// Says whether the work of a stream and the work of the legacy default stream wait for each other
/// (blocking). Most streams should be non-blocking, so that their work overlaps with the rest of
/// the program. cudaStreamCreate creates blocking ones.
enum class stream_kind : unsigned char { non_blocking, blocking };

/// Options for creating a stream.
struct stream_options {
  /// Scheduling priority: a smaller number is served earlier. A value outside device::priorities()
  /// is an error that names the range; use priorities().clamped(p) to stay inside.
  int priority = 0;
  stream_kind kind = stream_kind::non_blocking;
};

/// An owned stream, bound to one device. Derives from stream_ref, so it has all operations of a
/// stream_ref and can be passed wherever one is expected.
///
/// Move-only. A moved-from or closed stream throws `closed` when used; it never stands for the
/// default stream. A stream can still be the current stream of a thread, or a weir::buffer can need
/// it for its stream-ordered free. If so, the driver's stream is destroyed when the last of these
/// users no longer needs it. The caller does not have to wait for that.
///
/// Thread safety: the operations of stream_ref may be called from any thread. Moving and closing
/// need external synchronisation.
///
/// Do not assign through a `stream_ref&` that is bound to an owner, and do not delete an owner as
/// its base: the stream would leak, or be destroyed twice.
class WEIR_EXPORT stream : public stream_ref {
 public:
  /// Creates a stream on the primary context of the device. On failure nothing is left behind. The
  /// caller's current context does not change.
  ///
  /// In a capture: allowed.
  /// Driver: cuStreamCreateWithPriority.
  explicit stream(weir::device gpu, stream_options options = {},
                  call_site at = call_site::current());
  /// Creates a stream on a context. On failure nothing is left behind. The caller's current context
  /// does not change.
  ///
  /// In a capture: allowed.
  /// Driver: cuStreamCreateWithPriority.
  explicit stream(context_ref context, stream_options options = {},
                  call_site at = call_site::current());

  /// Takes ownership of an existing stream.
  ///
  /// Throws: `invalid_handle` for null, for a default stream, and for a stream that weir already
  /// owns.
  /// In a capture: throws if the stream captures, because its properties are queried.
  /// Driver: cuStreamGetFlags, cuStreamGetId, cuStreamGetPriority, cuStreamGetCtx.
  [[nodiscard]] static stream adopt(CUstream_st* handle, call_site at = call_site::current());

  stream(stream&& other) noexcept : stream_ref{other}, state_{other.state_} { other.reset(); }
  stream& operator=(stream&& other) noexcept;
  /// Destroys the stream without blocking; queued work still runs. Errors go to the unhandled-error
  /// handler (set_unhandled_error_handler), as do exceptions of host functions that no sync() has
  /// thrown.
  ///
  /// In a capture: allowed. If the stream itself captures, it is destroyed after the capture has
  /// ended. The capture can still be ended through the raw handle. (If the driver destroyed the
  /// stream earlier, it would drop the capture without an error.)
  /// In a host function: allowed; another thread destroys the stream.
  /// Driver: cuStreamIsCapturing, cuStreamDestroy.
  ~stream();

  /// Destroys the stream without waiting for the destructor, and reports errors. If weir itself
  /// still uses the stream, as for the free of a buffer, the last use destroys it. Does nothing if
  /// the stream is closed already.
  ///
  /// Throws: the driver's error.
  /// In a capture: as the destructor.
  /// Driver: cuStreamDestroy.
  void close(call_site at = call_site::current());
  /// Returns true if the stream was closed, released or moved from.
  [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }

  /// Calls sync(), then close(). Also closes if the work failed.
  ///
  /// Throws: the first error, with an error of close() attached (error::attached()). Throws
  /// `illegal_state` with nothing done while the stream has other users. Other users are threads
  /// for which it is the current stream, buffers that belong to it, and memory that was used on it
  /// (buffers, pinned and managed memory, wait words). In that case call sync() and close(): the
  /// last user then destroys the stream.
  void shutdown(call_site at = call_site::current());

  /// Gives up ownership and returns the handle, which the caller has to destroy. The object is
  /// closed afterwards.
  ///
  /// Throws: `illegal_state` under the conditions listed at shutdown().
  [[nodiscard]] CUstream_st* release(call_site at = call_site::current());

  /// Like stream_ref::completion(), but does not have to look up weir's data of the stream, so it
  /// is faster.
  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const;

  /// Returns the reference to this stream.
  [[nodiscard]] stream_ref ref() const noexcept { return *this; }

 private:
  stream(CUstream_st* handle, detail::stream_state* state) noexcept
      : stream_ref{handle}, state_{state} {}
  void reset() noexcept {
    exchange_handle(detail::closed_handle<CUstream_st>());
    state_ = nullptr;
  }

  /// weir's data of the stream, such as its properties; null if closed. The data outlive this
  /// object while other users need the stream.
  detail::stream_state* state_;
};

static_assert(!std::is_copy_constructible_v<stream> &&
              !std::is_constructible_v<stream, stream_ref> &&
              !std::is_assignable_v<stream&, stream_ref> && sizeof(stream) == 2 * sizeof(void*));

}  // namespace weir

template <>
struct std::hash<weir::stream_ref> {
  [[nodiscard]] std::size_t operator()(weir::stream_ref s) const noexcept { return s.token(); }
};
