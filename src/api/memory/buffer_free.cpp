// api/memory/buffer_free.cpp - device memory freed in the order of a stream, in a capture, or after
// it.
#include <weir/memory/buffer.hpp>

#include "api/capture/captures.hpp"
#include "api/capture/relaxed_capture_mode.hpp"
#include "api/core/check.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/device/make_current.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/memory/free_when_idle.hpp"
#include "api/memory/frees_in_captures.hpp"
#include "api/memory/pending_uses.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_state.hpp"
#include "api/stream/thread_event.hpp"

#include <memory>
#include <utility>

namespace weir::detail {

// What a free would be that is made while captures are open: of memory that one of them has made a
// part of that; needless if that is broken, for the memory goes with it.
enum class stream_memory::free_in_capture : unsigned char { recorded, unnecessary, must_defer };

stream_memory::~stream_memory() {
  if (closed()) return;
  if (!can_free_now()) {
    const free_in_capture now = current_free_in_capture();
    if (now == free_in_capture::unnecessary) {
      release_resources();
      return;
    }
    if (now == free_in_capture::must_defer) {
      defer([later = std::move(*this)]() mutable { const stream_memory then{std::move(later)}; });
      return;
    }
  }
  if (was_never_allocated()) {
    release_resources();
    return;
  }
  const subject on = subject::memory(address_);
  const CUstream own = reachable_stream();
  const first_failure failure =
      free_on(any_capture_active() && capture_ != 0 ? stream_for_free(own, capture_) : own);
  report_if_failed(failure, on);
}

stream_memory::free_in_capture stream_memory::current_free_in_capture() const noexcept {
  const CUstream stream = reachable_stream();
  if (capture_ == 0 || stream != stream_ || inside_host_function || inside_user_destructor ||
      in_forked_child())
    return free_in_capture::must_defer;
  if (capture_id_of(stream) == capture_) return free_in_capture::recorded;
  return is_in_capture(stream) && is_known_in_capture(stream, capture_)
             ? free_in_capture::unnecessary
             : free_in_capture::must_defer;
}

void stream_memory::close(call_site at) { close(reachable_stream(), at); }

void stream_memory::close(stream_ref stream, call_site at) {
  if (closed()) return;
  const subject on = subject::memory(address_);
  const CUstream handle = require_open(stream, "cuMemFreeAsync", at);
  if (was_never_allocated()) {
    release_resources();
    return;
  }
  const first_failure failure = free_on(handle);
  check(failure, on, at);
}

// Was it a capture's of which nothing is left? Its address may be somebody else's.
bool stream_memory::was_never_allocated() const noexcept {
  return capture_ != 0 && !may_be_allocated(capture_);
}

// Frees in the order of that stream, which waits for all others that used it. What fails does not
// keep the rest from being done; only where a wait cannot be had the free goes to the own stream,
// which is right without one.
first_failure stream_memory::free_on(CUstream stream) noexcept {
  first_failure failure;
  const CUstream own = reachable_stream();
  const bool waits_for_others = uses_ != nullptr || stream_ref{stream} != stream_ref{own};
  if (address_ != nullptr && waits_for_others && crosses_capture_boundary(stream, own, uses_)) {
    free_later(own);
  } else if (address_ != nullptr) {
    // The default streams are those of the current context; others know their own.
    bool pushed = false;
    try {
      pushed =
          (is_default(own) || is_default(stream)) && push_current(device_context_, call_site{});
    } catch (...) {
      failure.note_exception("cuCtxPushCurrent");
    }
    if (stream_ref{stream} != stream_ref{own}) {
      const CUevent mark = record_thread_event(own, failure);
      const CUresult answer = mark != nullptr
                                  ? driver().cuStreamWaitEvent(stream, mark, CU_EVENT_WAIT_DEFAULT)
                                  : CUDA_ERROR_INVALID_HANDLE;
      failure.note(answer, "cuStreamWaitEvent");
      if (answer != CUDA_SUCCESS) stream = own;
    }
    first_failure wait_failure;
    if (uses_ != nullptr) uses_->make_wait(stream, wait_failure);
    if (wait_failure.code == errc::success) {
      // Destructors come anywhere, also beside a capture that somebody else began, which the free
      // would break.
      const relaxed_capture_mode guard{failure};
      const CUresult answer = driver().cuMemFreeAsync(device_address(address_), stream);
      if (refused_for_capture(answer, stream)) [[unlikely]] {
        free_later(own);
      } else if (!is_not_allocated(answer, capture_)) {
        failure.note(answer, "cuMemFreeAsync");
      }
    } else {
      failure.note(wait_failure.code, wait_failure.call);
      free_later(own);
    }
    if (pushed) pop_current();
  }
  release_resources();
  return failure;
}

// A free that does not wait for a stream that still uses the memory would give it to somebody else
// too early. So weir's own thread does it when all uses are done and the stream captures no more,
// in a stream that every thread can name.
void stream_memory::free_later(CUstream own) noexcept {
  const CUstream stream = own == CU_STREAM_PER_THREAD ? CU_STREAM_LEGACY : own;
  free_when_idle(
      std::unique_ptr<pending_uses>{std::exchange(uses_, nullptr)},
      [address = address_, stream, context = device_context_, capture = std::exchange(capture_, 0),
       state = std::exchange(state_, nullptr)](first_failure failure) {
        const bool is_there = capture == 0 || may_be_allocated(capture);
        if (is_there && is_in_capture(stream)) return task_result::capture_active;
        if (is_there) {
          try {
            const make_current current{context, call_site{}};
            const CUresult answer = driver().cuMemFreeAsync(device_address(address), stream);
            if (refused_for_capture(answer, stream)) return task_result::capture_active;
            if (!is_not_allocated(answer, capture)) failure.note(answer, "cuMemFreeAsync");
          } catch (...) {
            failure.note_exception("cuCtxPushCurrent");
          }
        }
        if (state != nullptr) state->release_noexcept(stream_holder::user);
        if (capture != 0) remove_captured_memory(capture);
        report_if_failed(failure, subject::memory(address));
        return task_result::done;
      });
}

// Closes without a free.
void stream_memory::release_resources() noexcept {
  delete uses_;
  stream_ = closed_handle<CUstream_st>();
  if (stream_state* const state = std::exchange(state_, nullptr))
    state->release_noexcept(stream_holder::user);
  if (const unsigned long long capture = std::exchange(capture_, 0); capture != 0)
    remove_captured_memory(capture);
  reset();
}

}  // namespace weir::detail
