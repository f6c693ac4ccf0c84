// api/memory/buffer_free.cpp - device memory freed in the order of a stream, in a capture, or after it.
#include <weir/memory/buffer.hpp>

#include "api/memory/captured_memory.hpp"
#include "api/capture/captures.hpp"
#include "api/core/check.hpp"
#include "api/memory/free_when_unused.hpp"
#include "api/memory/frees_in_captures.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/kept_event.hpp"
#include "api/device/make_current.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/capture/relaxed_captures.hpp"
#include "api/stream/stream_state.hpp"
#include "api/memory/use_list.hpp"

#include <memory>
#include <utility>

namespace weir::detail {

// What a free would be that is made while captures are open: of memory that one of them has made a part of that; needless if
// that is broken, for the memory goes with it.
enum class stream_memory::free_in_capture : unsigned char { recorded, needless, harmful };

stream_memory::~stream_memory() {
  if (closed()) return;
  if (!may_free()) {
    const free_in_capture now = free_in_capture_now();
    if (now == free_in_capture::needless) {
      let_go();
      return;
    }
    if (now == free_in_capture::harmful) {
      defer([later = std::move(*this)]() mutable { const stream_memory then{std::move(later)}; });
      return;
    }
  }
  if (is_gone()) {
    let_go();
    return;
  }
  const subject on = subject::memory(address_);
  const CUstream own = reachable_stream();
  const first_failure failure = free_in(captures_open() && capture_ != 0 ? stream_for_free(own, capture_) : own);
  check_unraised(failure, on);
}

stream_memory::free_in_capture stream_memory::free_in_capture_now() const noexcept {
  const CUstream stream = reachable_stream();
  if (capture_ == 0 || stream != stream_ || inside_host_function || inside_program_chore || in_forked_child())
    return free_in_capture::harmful;
  if (id_of_capture(stream) == capture_) return free_in_capture::recorded;
  return is_in_capture(stream) && is_known_in_capture(stream, capture_) ? free_in_capture::needless
                                                                        : free_in_capture::harmful;
}

void stream_memory::close(call_site at) { close(reachable_stream(), at); }

void stream_memory::close(stream_ref stream, call_site at) {
  if (closed()) return;
  const subject on = subject::memory(address_);
  const CUstream handle = usable(stream, "cuMemFreeAsync", at);
  if (is_gone()) {
    let_go();
    return;
  }
  const first_failure failure = free_in(handle);
  check(failure, on, at);
}

// Was it a capture's of which nothing is left? Its address may be somebody else's.
bool stream_memory::is_gone() const noexcept { return capture_ != 0 && !may_be_allocated(capture_); }

// Frees in the order of that stream, which waits for all others that used it. What fails does not keep the rest from
// being done; only where a wait cannot be had the free goes to the own stream, which is right without one.
first_failure stream_memory::free_in(CUstream stream) noexcept {
  first_failure failure;
  const CUstream own = reachable_stream();
  const bool waits_for_others = uses_ != nullptr || stream_ref{stream} != stream_ref{own};
  if (address_ != nullptr && waits_for_others && leads_across_captures(stream, own, uses_)) {
    free_later(own);
  } else if (address_ != nullptr) {
    // The default streams are those of the current context; others know their own.
    bool pushed = false;
    try {
      pushed = (is_default(own) || is_default(stream)) && push_current(device_context_, call_site{});
    } catch (...) {
      failure.note_exception("cuCtxPushCurrent");
    }
    if (stream_ref{stream} != stream_ref{own}) {
      const CUevent mark = record_kept_event(own, failure);
      const CUresult answer =
          mark != nullptr ? driver().cuStreamWaitEvent(stream, mark, CU_EVENT_WAIT_DEFAULT) : CUDA_ERROR_INVALID_HANDLE;
      failure.note(answer, "cuStreamWaitEvent");
      if (answer != CUDA_SUCCESS) stream = own;
    }
    first_failure wait_failure;
    if (uses_ != nullptr) uses_->make_wait(stream, wait_failure);
    if (wait_failure.code == errc::success) {
      // Destructors come anywhere, also beside a capture that somebody else began, which the free would break.
      const relaxed_captures unharmed{failure};
      const CUresult answer = driver().cuMemFreeAsync(device_address(address_), stream);
      if (refused_for_capture(answer, stream)) [[unlikely]] {
        free_later(own);
      } else if (!is_not_there(answer, capture_)) {
        failure.note(answer, "cuMemFreeAsync");
      }
    } else {
      failure.note(wait_failure.code, wait_failure.call);
      free_later(own);
    }
    if (pushed) pop_current();
  }
  let_go();
  return failure;
}

// A free that does not wait for a stream that still uses the memory would give it to somebody else too early. So weir's
// own thread does it when all uses are done and the stream captures no more, in a stream that every thread can name.
void stream_memory::free_later(CUstream own) noexcept {
  const CUstream stream = own == CU_STREAM_PER_THREAD ? CU_STREAM_LEGACY : own;
  free_when_unused(std::unique_ptr<use_list>{std::exchange(uses_, nullptr)},
                   [address = address_, stream, context = device_context_, capture = std::exchange(capture_, 0),
                    state = std::exchange(state_, nullptr)](first_failure failure) {
                     const bool is_there = capture == 0 || may_be_allocated(capture);
                     if (is_there && is_in_capture(stream)) return chore_result::capture_open;
                     if (is_there) {
                       try {
                         const make_current current{context, call_site{}};
                         const CUresult answer = driver().cuMemFreeAsync(device_address(address), stream);
                         if (refused_for_capture(answer, stream)) return chore_result::capture_open;
                         if (!is_not_there(answer, capture)) failure.note(answer, "cuMemFreeAsync");
                       } catch (...) {
                         failure.note_exception("cuCtxPushCurrent");
                       }
                     }
                     if (state != nullptr) state->drop(share::user);
                     if (capture != 0) drop_captured_memory(capture);
                     check_unraised(failure, subject::memory(address));
                     return chore_result::done;
                   });
}

// Closes without a free.
void stream_memory::let_go() noexcept {
  delete uses_;
  stream_ = closed_handle<CUstream_st>();
  if (stream_state* const state = std::exchange(state_, nullptr)) state->drop(share::user);
  if (const unsigned long long capture = std::exchange(capture_, 0); capture != 0) drop_captured_memory(capture);
  forget();
}

}  // namespace weir::detail
