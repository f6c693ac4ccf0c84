// weir/stream/stream.hpp - ordered queues of device work.
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

#include <type_traits>
#include <typeindex>  // the cheapest header with std::hash

namespace weir {

class completion;
class context_ref;
namespace detail {
class stream_state;
}

// A stream, borrowed: valid while its owner is. Trivially copyable; pass by value.
// It is made implicitly from an owner, from a raw handle (CUstream, cudaStream_t) and from the
// stream types of other libraries (cuda::stream_ref, rmm::cuda_stream_view), and converts to all of
// those. shared_stream also keeps a foreign owner alive. Thread safety: any operation from any
// thread. Operations queue in the order in which they are called. In a host function: refused
// (not_permitted). In a capture the driver's rules hold, which each operation names. Work that
// failed is reported by the calls that look at the stream (done, sync), as the driver's code, and
// from then on by nearly every call: see context_ref::status().
class WEIR_EXPORT stream_ref {
 public:
  constexpr stream_ref(CUstream_st* handle) noexcept : handle_{handle} {}
  template <stream_source S>
  constexpr stream_ref(const S& other) noexcept : handle_{detail::raw_stream(other)} {}
  stream_ref(int) = delete;  // default streams are taken by name only
  stream_ref(decltype(nullptr)) = delete;

  // The default stream that all threads share and that blocking streams order with; of the context
  // that is current at each use. Never destroyed.
  [[nodiscard]] static stream_ref legacy() noexcept;
  // The default stream of the thread that uses it: the same reference is another stream in another
  // thread.
  [[nodiscard]] static stream_ref per_thread() noexcept;

  // Waits of the device. None of these blocks the host.

  // Marks the work queued so far: a new event, or one that the caller keeps, which forgets its
  // earlier mark. The event and the stream have to be of one context (else invalid_handle). In a
  // capture: allowed; the event then only serves waits within that capture. cuEventRecord, for the
  // new ones after cuEventCreate.
  [[nodiscard]] event record(call_site at = call_site::current()) const;
  [[nodiscard]] timed_event record_timed(call_site at = call_site::current()) const;
  void record(event_ref mark, call_site at = call_site::current()) const {
    const errc answer = detail::record(mark.get(), handle_);
    if (answer != errc::success) [[unlikely]] {
      record_slow(mark, answer, at);
    }
  }

  // Later work of this stream starts after what `mark` marks now; a later record does not move
  // that, and an event never recorded holds nothing. The event may be of another device. In a
  // capture: an event of that capture makes this stream join it; the driver refuses others
  // (stream_capture_isolation) and drops the capture. cuStreamWaitEvent.
  void wait(event_ref mark, call_site at = call_site::current()) const {
    const errc answer = detail::wait_for(handle_, mark.get());
    if (answer != errc::success) [[unlikely]] {
      wait_slow(mark, answer, at);
    }
  }

  // Later work of this stream starts after all work that `other` has been given so far, also of
  // another device. Nothing if it is this stream. The event in between is kept for the next time,
  // one for each thread and context. In a capture: allowed; a capture of `other` spreads to this
  // stream. cuEventRecord, cuStreamWaitEvent.
  void wait(stream_ref other, call_site at = call_site::current()) const {
    const errc answer = detail::wait_for(handle_, other.handle_);
    if (answer != errc::success) [[unlikely]] {
      wait_slow(other, answer, at);
    }
  }

  // Waits of the host.

  // Is all work done? Throws what the work failed with: an error is never "not done". Done means as
  // much as after sync(): what the work wrote can be read. While the stream itself captures:
  // refused (stream_capture_unsupported); the capture lives on. Beside captures of other streams:
  // allowed. Of captures that were started directly through the driver nothing is known; there the
  // driver refuses, and drops the capture. cuStreamQuery.
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

  // Blocks the calling thread until all work queued so far is done. Throws what the work failed
  // with; else what a host function of this stream has thrown since the last sync. In a capture: as
  // done(). cuStreamSynchronize.
  void sync(call_site at = call_site::current()) const;

  // The same with an end: false if the time passed first. The work goes on. The thread polls at
  // once, later sleeps in between. cuEventRecord, cuEventQuery.
  template <detail::duration_like Duration>
  [[nodiscard]] bool sync_for(const Duration& timeout, call_site at = call_site::current()) const {
    return sync_for_nanoseconds(detail::nanoseconds(timeout), at);
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool sync_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return sync_for_nanoseconds(detail::nanoseconds_until(deadline), at);
  }

  // The end of all work queued so far, to be awaited, waited for or asked, by any number
  // (weir/completion/completion.hpp). Adds nothing to the stream, and never runs a host function.
  // While the stream itself captures: refused, with nothing queued (stream_capture_unsupported;
  // stream_capture_invalidated where the capture is broken); the capture lives on. From captures
  // that were started directly through the driver, too. cuStreamIsCapturing, cuEventRecord.
  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const;

  // Calls f(stream), which queues work, and gives a future of what it returns
  // (weir/completion/future.hpp, which has its body). Refused as completion() is, before the call.
  // What is returned is kept until the work is done, also if the future is dropped. What f throws
  // comes out of it: what f has queued by then runs, and what it uses has to be there still.
  template <class F>
  [[nodiscard]] auto enqueue_async(F&& f, call_site at = call_site::current()) const;

  // What it is. Of streams that weir made or adopted all of it is known, and asking makes no driver
  // call. Of others the driver is asked, and where that would break a capture of the stream the
  // question is refused instead (stream_capture_unsupported). Of the default streams, the answer is
  // for the context that is current at the call.

  // Unique in the process, and never used again after the stream is gone. Of a stream that weir
  // made it is weir's own number; of others the driver's. cuStreamGetId.
  [[nodiscard]] unsigned long long id(call_site at = call_site::current()) const;
  // cuStreamGetCtx.
  [[nodiscard]] context_ref context(call_site at = call_site::current()) const;
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const;
  // As the device took it: within its range. cuStreamGetPriority.
  [[nodiscard]] int priority(call_site at = call_site::current()) const;
  // Does it order with the legacy default stream? cuStreamGetFlags.
  [[nodiscard]] bool is_blocking(call_site at = call_site::current()) const;
  // Is it one of the two default streams?
  [[nodiscard]] bool is_default() const noexcept;

  [[nodiscard]] constexpr CUstream_st* get() const noexcept { return handle_; }
  constexpr operator CUstream_st*() const noexcept { return handle_; }
  template <foreign_stream R>
  constexpr operator R() const {
    return R{handle_};
  }

  // The same stream? Handle null and legacy() are.
  friend bool operator==(stream_ref a, stream_ref b) noexcept { return a.token() == b.token(); }
  // Both convert to each other, so a foreign one needs a comparison of its own.
  template <stream_source S>
  friend bool operator==(stream_ref a, const S& b) noexcept {
    return a == stream_ref{b};
  }

 private:
  friend struct std::hash<stream_ref>;
  [[nodiscard]] __UINTPTR_TYPE__ token() const noexcept {
    const auto value = reinterpret_cast<__UINTPTR_TYPE__>(handle_);
    return value == 0 ? 1 : value;
  }
  // After a direct call that did not succeed: throw what it answered, or, if the driver was not
  // asked, make the whole call.
  void record_slow(event_ref mark, errc answer, call_site at) const;
  void wait_slow(event_ref mark, errc answer, call_site at) const;
  void wait_slow(stream_ref other, errc answer, call_site at) const;
  [[nodiscard]] bool done_slow(errc answer, call_site at) const;
  [[nodiscard]] errc try_done_slow() const noexcept;
  [[nodiscard]] bool sync_for_nanoseconds(long long timeout, call_site at) const;

  CUstream_st* handle_;
};

static_assert(std::is_trivially_copyable_v<stream_ref> && sizeof(stream_ref) == sizeof(void*));

// Does the stream order with the legacy default stream? Most should not: its work then overlaps
// with whatever else the program does. cudaStreamCreate makes blocking ones.
enum class stream_kind : unsigned char { non_blocking, blocking };

struct stream_options {
  // Smaller is served earlier. Outside device::priorities() it is an error that names the range;
  // priorities().clamped(p) is always inside.
  int priority = 0;
  stream_kind kind = stream_kind::non_blocking;
};

// A stream of our own, bound to a device for good. Move-only; moved-from and closed ones answer
// `closed` when used, and never become the default stream. It converts to its reference and has its
// operations. A stream that is some thread's current stream, or that a weir::buffer needs for its
// stream-ordered free, is destroyed when neither holds any more; nobody has to wait for that.
// Thread safety: the reference's operations from any thread; moving and closing as any object.
class WEIR_EXPORT stream {
 public:
  // On the primary context of the device, or on another context. Fails whole: nothing is left
  // behind. The caller's current context stays what it is. In a capture: allowed.
  // cuStreamCreateWithPriority.
  explicit stream(weir::device gpu, stream_options options = {},
                  call_site at = call_site::current());
  explicit stream(context_ref context, stream_options options = {},
                  call_site at = call_site::current());

  // Takes over a stream; from now on it is ours to destroy. Null and the default streams are
  // refused (invalid_handle), and so is one that weir owns already. Its properties are asked for
  // here: refused while it captures.
  [[nodiscard]] static stream adopt(CUstream_st* handle, call_site at = call_site::current());

  stream(stream&& other) noexcept : handle_{other.handle_}, state_{other.state_} { other.reset(); }
  stream& operator=(stream&& other) noexcept;
  // Never blocks: work that is queued still runs. What fails goes to set_unhandled_error_handler,
  // as do exceptions of its host functions that no sync() has thrown. In a host function: allowed;
  // the destruction is left to another thread. While the stream itself captures: allowed; it is
  // left until the capture has ended, which whoever has its handle may still do (the driver would
  // drop the capture without a word). cuStreamIsCapturing.
  ~stream();

  // Gives it up now and reports what fails; does nothing a second time. Captures as above.
  // cuStreamDestroy.
  void close(call_site at = call_site::current());
  [[nodiscard]] bool closed() const noexcept { return state_ == nullptr; }

  // sync(), then close(): closes also if the work failed, and reports the first of what fails, with
  // the rest attached. Refused (illegal_state), with nothing done, while the stream is current
  // somewhere, is that of a buffer, or is one that memory was used on which is still there
  // (buffers, pinned and managed memory, words: they ask it, when they end, whether the use is
  // done). sync() and close() do for those: the last of them destroys the stream.
  void shutdown(call_site at = call_site::current());

  // Gives the handle up; its destruction is the caller's. The object is closed. Refused as
  // shutdown() is.
  [[nodiscard]] CUstream_st* release(call_site at = call_site::current());

  [[nodiscard]] event record(call_site at = call_site::current()) const { return ref().record(at); }
  [[nodiscard]] timed_event record_timed(call_site at = call_site::current()) const {
    return ref().record_timed(at);
  }
  void record(event_ref mark, call_site at = call_site::current()) const { ref().record(mark, at); }
  void wait(event_ref mark, call_site at = call_site::current()) const { ref().wait(mark, at); }
  void wait(stream_ref other, call_site at = call_site::current()) const { ref().wait(other, at); }

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
  template <class F>
  [[nodiscard]] auto enqueue_async(F&& f, call_site at = call_site::current()) const;

  [[nodiscard]] unsigned long long id(call_site at = call_site::current()) const {
    return ref().id(at);
  }
  [[nodiscard]] context_ref context(call_site at = call_site::current()) const;
  [[nodiscard]] weir::device device(call_site at = call_site::current()) const {
    return ref().device(at);
  }
  [[nodiscard]] int priority(call_site at = call_site::current()) const {
    return ref().priority(at);
  }
  [[nodiscard]] bool is_blocking(call_site at = call_site::current()) const {
    return ref().is_blocking(at);
  }

  [[nodiscard]] CUstream_st* get() const noexcept { return handle_; }
  operator CUstream_st*() const noexcept { return handle_; }
  operator stream_ref() const noexcept { return ref(); }
  template <foreign_stream R>
  operator R() const {
    return R{handle_};
  }
  [[nodiscard]] stream_ref ref() const noexcept { return stream_ref{handle_}; }

 private:
  stream(CUstream_st* handle, detail::stream_state* state) noexcept
      : handle_{handle}, state_{state} {}
  void reset() noexcept {
    handle_ = detail::closed_handle<CUstream_st>();
    state_ = nullptr;
  }

  CUstream_st* handle_;
  detail::stream_state*
      state_;  // what never changes; outlives this object where others need the stream
};

static_assert(!std::is_copy_constructible_v<stream> && sizeof(stream) == 2 * sizeof(void*));

}  // namespace weir

template <>
struct std::hash<weir::stream_ref> {
  [[nodiscard]] std::size_t operator()(weir::stream_ref s) const noexcept { return s.token(); }
};
