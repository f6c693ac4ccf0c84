// entry/guard.hpp - what every entry point checks before it does anything, and how it finds what
// its handles stand for.
#pragma once

#include <new>

#include "driver/abi.hpp"
#include "embedded/entry/default_stream.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::entry {

// Runs the body of an entry point that a host function may call, too: one that names its stream or
// event, or needs no state. Nothing is thrown through the C face.
template <class Body>
abi::CUresult guarded(Body&& body) noexcept {
  model::process& p = model::this_process();
  if (!p.initialised()) return abi::CUDA_ERROR_NOT_INITIALIZED;
  try {
    return body(p);
  } catch (const std::bad_alloc&) {
    return abi::CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return abi::CUDA_ERROR_UNKNOWN;
  }
}

// The same for one that a host function may not call: CUDA_ERROR_NOT_PERMITTED there.
template <class Body>
abi::CUresult guarded_outside_host_functions(Body&& body) noexcept {
  return guarded([&](model::process& p) -> abi::CUresult {
    if (model::this_thread().in_host_function) return abi::CUDA_ERROR_NOT_PERMITTED;
    return body(p);
  });
}

// The same for one that is unsafe while a stream captures, for it makes, ends or counts memory.
template <class Body>
abi::CUresult guarded_outside_captures(Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) -> abi::CUresult {
    if (const abi::CUresult status = model::check_unsafe_call(); status != abi::CUDA_SUCCESS)
      return status;
    return body(p);
  });
}

// The calling thread's current context, ready for use; or the code that says why there is none.
inline abi::CUresult current_context(model::context*& out) {
  model::context* top = model::this_thread().current();
  if (top == nullptr) return abi::CUDA_ERROR_INVALID_CONTEXT;
  if (const abi::CUresult status = top->status(); status != abi::CUDA_SUCCESS) return status;
  out = top;
  return abi::CUDA_SUCCESS;
}

// The stream behind a handle, ready for use. Null and the two default handles are resolved in the
// current context of the calling thread; inside a host function they are refused.
abi::CUresult find_stream(model::process& p, abi::CUstream handle, model::stream*& out);

// The same for work: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, before any other argument is looked at,
// where the stream is in a capture that is broken.
inline abi::CUresult find_stream_for_work(model::process& p, abi::CUstream handle,
                                          model::stream*& out) {
  const abi::CUresult status = find_stream(p, handle, out);
  return status != abi::CUDA_SUCCESS ? status : model::check_capture_valid(*out);
}

// The same for a question that is not a use of the stream: while a blocking stream captures, the
// legacy stream may not be used, which would break the capture, but be asked about, which only
// fails.
abi::CUresult find_stream_for_query(model::process& p, abi::CUstream handle, model::stream*& out);

// When work that is submitted to a stream uses its memory.
inline model::access_time access_time_of(const model::stream& s) {
  return s.capture() == nullptr ? model::access_time::now : model::access_time::in_graph;
}

// The context whose device has to reach the memory that work in a stream uses: the stream's. A
// capture does not ask.
inline model::memory_user memory_user_for(const model::process& p, const model::stream& s) {
  return !p.has_several_devices() || s.capture() != nullptr ? model::memory_user{}
                                                            : model::memory_user{&s.owner(), false};
}

// The same for copies: the current one's, whatever the stream, and the stream's where there is
// none.
inline model::memory_user copy_user_for(const model::process& p, const model::stream& s) {
  if (!p.has_several_devices()) return {};
  model::context* const current = model::this_thread().current();
  return {current != nullptr ? current : &s.owner(), true};
}

// Is there memory at an address, as a context's device sees it?
inline bool is_accessible(const model::process& p, model::context& by, const model::allocation& in,
                          std::uintptr_t address) {
  if (!in.allows(model::read_access)) return false;
  return !p.has_several_devices() ||
         model::can_access({&by, false}, in, address, 1, model::read_access);
}

// The event behind a handle, ready for use.
abi::CUresult find_event(model::process& p, abi::CUevent handle, model::event*& out);

// The null stream's stand-in for calls without a stream argument (cuMemcpyHtoD): the legacy stream,
// or the thread's own in the per-thread variants of the entry points.
abi::CUresult find_null_stream(model::process& p, model::stream*& out);

}  // namespace weir::embedded::entry
