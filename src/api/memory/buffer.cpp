// SPDX-License-Identifier: Apache-2.0
// api/memory/buffer.cpp - stream-ordered device memory: its allocation, its stream and its free.
#include <weir/core/to_string.hpp>
#include <weir/memory/buffer.hpp>

#include "api/capture/capture_begin.hpp"
#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_query.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/deferred/reclaimer.hpp"
#include "api/deferred/release_when_idle.hpp"
#include "api/device/green_state.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/memory/captured_memory.hpp"
#include "api/memory/frees_in_captures.hpp"
#include "api/memory/memory_record.hpp"
#include "api/memory/pool_allocation.hpp"
#include "api/stream/host_failures.hpp"
#include "api/stream/stream_state.hpp"
#include "api/stream/thread_event.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

namespace weir::detail {

stream_memory::stream_memory(stream_ref stream, std::size_t count, std::size_t element_bytes,
                             call_site at) {
  allocate(nullptr, stream, count, element_bytes, at);
}

stream_memory::stream_memory(const memory_pool_ref& pool, stream_ref stream, std::size_t count,
                             std::size_t element_bytes, call_site at) {
  allocate(&pool, stream, count, element_bytes, at);
}

// Allocates the memory from `pool`, or from the current pool of the stream's device if `pool` is
// null.
void stream_memory::allocate(const memory_pool_ref* pool, stream_ref stream, std::size_t count,
                             std::size_t element_bytes, call_site at) {
  const char* const call = pool != nullptr ? "cuMemAllocFromPoolAsync" : "cuMemAllocAsync";
  const CUstream handle = require_open(stream, call, at);
  if (pool != nullptr) require_open(*pool, call, at);
  if (count > std::numeric_limits<std::ptrdiff_t>::max() / element_bytes) {
    throw_error(errc::out_of_memory, call, stream, at);
  }
  const std::size_t bytes = count * element_bytes;
  create_record();
  CUcontext context = nullptr;
  CUdeviceptr address = 0;
  try {
    bind_to(stream, at);
    context = tracked().device_context();
    // The pool may be on another device than the stream. Copies between devices use
    // device_context(), so it is set to a context of the pool's device. For a default stream it
    // stays the current context: that context says which default stream frees the memory.
    if (pool != nullptr && !is_default(handle) &&
        context_info_of(context, at).device != pool->device().ordinal()) {
      context = primary_context(pool->device(), at);
    }
    if (bytes != 0 && any_capture_active()) capture_ = captured_memory_in(handle).release();
    if (bytes != 0 && pool != nullptr) address = allocate_from(*pool, stream, bytes, at);
    if (bytes != 0 && pool == nullptr) {
      if (capture_ != nullptr) throw_if_memory_in_body(capture_->id, handle, call, at);
      const relaxed_mode_if_capturing guard{at};
      check(driver().cuMemAllocAsync(&address, bytes, handle), call, stream, at);
    }
  } catch (...) {
    if (state_ != nullptr) state_->release_noexcept(stream_holder::user);
    delete capture_;
    disown();
    throw;
  }
  own(to_pointer(address), bytes, context);
}

stream_memory stream_memory::adopt(stream_ref stream, void* address, std::size_t bytes,
                                   call_site at) {
  constexpr const char* call = "weir::buffer::adopt";
  require_open(stream, call, at);
  if (address == nullptr && bytes != 0) {
    throw_error(errc::invalid_value, call, "null",
                "the address is null; pass existing memory, or a size of 0", at);
  }
  stream_memory adopted;
  adopted.create_record();
  adopted.bind_to(stream, at);
  adopted.own(address, bytes, adopted.tracked().device_context());
  return adopted;
}

// Makes `stream` the stream that the memory belongs to, and its context the memory's context. If it
// throws, nothing has changed.
void stream_memory::bind_to(stream_ref stream, call_site at) {
  const CUstream handle = stream.get();
  CUcontext context = context_of(handle, at);
  if (context == nullptr) throw_error(errc::invalid_context, "cuMemAllocAsync", stream, at);
  if (!is_default(handle)) context = memory_context(context, at);
  stream_state* const previous = std::exchange(
      state_, is_default(handle) ? nullptr : acquire_stream_state(handle, stream_holder::user));
  stream_ = handle;
  memory_record::of(*tracked_).bind(handle, context);
  if (previous != nullptr) previous->release_noexcept(stream_holder::user);
}

stream_memory::stream_memory(stream_memory&& other) noexcept
    : stream_{std::exchange(other.stream_, closed_handle<CUstream_st>())},
      state_{std::exchange(other.state_, nullptr)},
      capture_{std::exchange(other.capture_, nullptr)} {
  move_from(other);
}

stream_memory& stream_memory::operator=(stream_memory&& other) noexcept {
  if (this == &other) return *this;
  const stream_memory old{std::move(*this)};
  move_from(other);
  stream_ = std::exchange(other.stream_, closed_handle<CUstream_st>());
  state_ = std::exchange(other.state_, nullptr);
  capture_ = std::exchange(other.capture_, nullptr);
  return *this;
}

namespace {

// Throws if `stream` is in a capture and `awaited` is not in that capture. The wait would break the
// captures of both. If only `awaited` is in a capture, `stream` joins it.
void require_waitable(stream_ref stream, CUstream awaited, const char* call, call_site at) {
  const unsigned long long capture = capture_of(stream.get());
  if (capture == no_capture || capture_of(awaited) == capture) return;
  throw_error(
      errc::illegal_state, call, to_string(stream),
      "the stream is in a capture that the buffer's stream is not in, and a wait would break "
      "it; both stay valid; set the stream outside the capture",
      at);
}

}  // namespace

void stream_memory::set_stream(stream_ref stream, call_site at) {
  constexpr const char* call = "weir::buffer::set_stream";
  require_open(stream, call, at);
  if (closed()) throw_closed(call, subject::memory(address_), at);
  const CUcontext context = tracked().device_context();
  const make_current current{context, at};
  if (any_capture_active()) require_waitable(stream, reachable_stream(), call, at);
  stream.wait(reachable_stream(), at);
  bind_to(stream, at);
  // The memory stays on its device, whichever device the stream belongs to.
  memory_record::of(*tracked_).bind(stream.get(), context);
}

void* stream_memory::release(call_site at) {
  // release_resources() may destroy events, which is a driver call.
  require_outside_host_function("weir::buffer::release", subject::memory(address_), at);
  if (closed()) throw_closed("weir::buffer::release", subject::memory(address_), at);
  void* const address = address_;
  release_resources();
  return address;
}

// Returns the stream that the memory belongs to, if the calling thread can use its handle. If it is
// the per-thread default stream of another thread, returns the legacy default stream, which waits
// for all per-thread default streams.
CUstream stream_memory::reachable_stream() const noexcept {
  const bool is_of_other_thread =
      stream_ == CU_STREAM_PER_THREAD && !memory_record::of(tracked()).is_of_this_thread();
  return is_of_other_thread ? CU_STREAM_LEGACY : stream_;
}

// The way to free memory while a capture is open.
// - recorded: an open capture into the graph that allocates the memory records the free.
// - unnecessary: the capture that allocated the memory is invalidated, and discards the memory.
// - must_defer: in all other cases the free is deferred.
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
      run_or_defer(
          [memory = std::move(*this)]() mutable { const stream_memory freed{std::move(memory)}; });
      return;
    }
  }
  if (was_never_allocated()) {
    release_resources();
    return;
  }
  const subject object = subject::memory(address_);
  report_if_failed(free_on(reachable_stream()), object);
}

stream_memory::free_in_capture stream_memory::current_free_in_capture() const noexcept {
  const CUstream stream = reachable_stream();
  if (capture_ == nullptr || stream != stream_ || inside_host_function || inside_user_destructor ||
      os::in_forked_child())
    return free_in_capture::must_defer;
  if (freeing_capture(stream, capture_) != no_capture) return free_in_capture::recorded;
  return is_in_capture(stream) && is_participant_of_capture(stream, capture_->id)
             ? free_in_capture::unnecessary
             : free_in_capture::must_defer;
}

void stream_memory::close(call_site at) { close(reachable_stream(), at); }

void stream_memory::close(stream_ref stream, call_site at) {
  if (closed()) return;
  const subject object = subject::memory(address_);
  const CUstream handle = require_open(stream, "cuMemFreeAsync", at);
  if (was_never_allocated()) {
    release_resources();
    return;
  }
  check(free_on(handle), object, at);
}

// Returns true if the memory was allocated in a capture and never came to exist
// (captured_memory.hpp). Another allocation may now have the address, so it must not be freed.
bool stream_memory::was_never_allocated() const noexcept {
  return capture_ != nullptr && capture_->never_existed();
}

namespace {

// Returns the launches that have allocated memory of a capture; null if there are none.
pending_uses* launches_of(const captured_memory* capture) noexcept {
  if (capture == nullptr || !capture->allocations->launches->has_uses()) return nullptr;
  return capture->allocations->launches.get();
}

// Makes `stream` wait for `memory_stream`. Returns true on success. Notes a failure in `failure`
// and returns false.
bool make_wait_for(CUstream memory_stream, CUstream stream, first_failure& failure) noexcept {
  if (stream_ref{stream} == stream_ref{memory_stream}) return true;
  const CUevent event = record_thread_event(memory_stream, failure);
  if (event == nullptr) return false;
  const CUresult answer = driver().cuStreamWaitEvent(stream, event, CU_EVENT_WAIT_DEFAULT);
  failure.note(answer, "cuStreamWaitEvent");
  return answer == CUDA_SUCCESS;
}

}  // namespace

// Queues the free in `stream`, after waits for all other streams that used the memory, and closes
// the object.
//
// While the capture is open that records the free, the free is queued in that capture: in its
// origin stream if `stream` is the stream that the memory belongs to or takes no part in it. A free
// in another capture would leave the graph without a free node.
//
// Continues if a step fails. If the wait for the stream that the memory belongs to fails, queues
// the free in that stream. If the wait for another stream fails, or is not possible because of a
// capture, defers the free.
first_failure stream_memory::free_on(CUstream stream) noexcept {
  first_failure failure;
  const CUstream memory_stream = reachable_stream();
  end_tracking();
  const pending_uses& uses = memory_record::of(*tracked_).uses();
  pending_uses* const launches = launches_of(capture_);
  const unsigned long long freeing = freeing_capture(memory_stream, capture_);
  if (freeing != no_capture && (stream == memory_stream || capture_of(stream) != freeing))
    stream = stream_for_free(memory_stream, freeing);
  const bool needs_order = !uses.empty() || launches != nullptr || freeing != no_capture ||
                           stream_ref{stream} != stream_ref{memory_stream};
  // Otherwise another thread could begin a capture of `stream` between the check and the waits.
  std::unique_lock<std::mutex> no_capture_begins;
  if (address_ != nullptr && needs_order) no_capture_begins = lock_capture_begin();
  if (address_ != nullptr && needs_order &&
      !prepare_free({stream, memory_stream, &uses, launches, capture_, freeing})) {
    free_later(memory_stream);
  } else if (address_ != nullptr) {
    // The handle of a default stream refers to a stream of the current context, so the memory's
    // context must be current. Any other handle determines its context.
    bool pushed = false;
    try {
      pushed = (is_default(memory_stream) || is_default(stream)) &&
               push_current(tracked().device_context(), call_site{});
    } catch (...) {
      failure.note_exception("cuCtxPushCurrent");
    }
    const bool waits = make_wait_for(memory_stream, stream, failure);
    free_after_uses(waits ? stream : memory_stream, memory_stream, failure);
    if (pushed) pop_current();
  }
  if (no_capture_begins.owns_lock()) no_capture_begins.unlock();
  release_resources();
  return failure;
}

// Makes `stream` wait for the tracked uses of the memory, and queues the free in it. Defers the
// free if a wait fails or the driver refuses the free because of a capture.
void stream_memory::free_after_uses(CUstream stream, CUstream memory_stream,
                                    first_failure& failure) noexcept {
  first_failure wait_failure;
  memory_record::of(*tracked_).uses().make_wait(stream, wait_failure);
  if (pending_uses* const launches = launches_of(capture_))
    launches->make_wait(stream, wait_failure);
  if (wait_failure.code != errc::success) {
    failure.note(wait_failure.code, wait_failure.call);
    free_later(memory_stream);
    return;
  }
  // This function may run in a destructor while another stream is capturing, and the free must not
  // invalidate that capture.
  const relaxed_capture_mode guard{failure};
  const CUresult answer = driver().cuMemFreeAsync(device_address(address_), stream);
  if (refused_for_capture(answer, stream)) [[unlikely]] {
    free_later(memory_stream);
  } else if (!is_not_allocated(answer, capture_)) {
    failure.note(answer, "cuMemFreeAsync");
  }
}

// Defers the free until all uses are done and the stream is not capturing. An earlier free would
// release memory that a stream still uses.
//
// The reclaimer thread queues the free in `memory_stream`. It cannot use the per-thread default
// stream of another thread, and uses the legacy default stream instead.
void stream_memory::free_later(CUstream memory_stream) noexcept {
  const CUstream stream = memory_stream == CU_STREAM_PER_THREAD ? CU_STREAM_LEGACY : memory_stream;
  const CUcontext context = tracked().device_context();
  free_when_idle(
      [address = address_, stream, context, capture = std::exchange(capture_, nullptr),
       state = std::exchange(state_, nullptr)](first_failure failure) {
        const bool may_exist = capture == nullptr || !capture->never_existed();
        if (may_exist && is_in_capture(stream)) return task_result::capture_active;
        // A launch that runs uses the memory, although no stream waits for the launch.
        if (may_exist && capture != nullptr && !capture->allocations->launches->idle())
          return task_result::busy;
        if (may_exist) {
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
        delete capture;
        report_if_failed(failure, subject::memory(address));
        return task_result::done;
      },
      take_uses());
}

// Closes the object without freeing the memory: releases the uses, the stream and the capture.
void stream_memory::release_resources() noexcept {
  disown();
  stream_ = closed_handle<CUstream_st>();
  if (stream_state* const state = std::exchange(state_, nullptr))
    state->release_noexcept(stream_holder::user);
  delete std::exchange(capture_, nullptr);
}

}  // namespace weir::detail
