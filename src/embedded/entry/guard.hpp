// SPDX-License-Identifier: Apache-2.0
// embedded/entry/guard.hpp - checks that every entry point makes first, and the lookup of handles.
#pragma once

#include <algorithm>
#include <new>

#include "driver/abi.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/entry/default_stream.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::entry {

// Runs the body of an entry point that a host function may call: one that names its stream or
// event, or needs no state. Converts exceptions to result codes, because none may leave a C
// function.
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

// Like guarded(), for an entry point that a host function may not call: returns
// CUDA_ERROR_NOT_PERMITTED there.
template <class Body>
abi::CUresult guarded_outside_host_functions(Body&& body) noexcept {
  return guarded([&](model::process& p) {
    if (model::this_thread().in_host_function) return abi::CUDA_ERROR_NOT_PERMITTED;
    return body(p);
  });
}

// Like guarded_outside_host_functions(), for a call that is unsafe during a capture because it
// allocates, frees or counts memory.
template <class Body>
abi::CUresult guarded_outside_captures(Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) {
    if (const abi::CUresult error = model::check_unsafe_call()) return error;
    return body(p);
  });
}

// Returns the result of a call that releases an object: the device's failure if the device has
// failed, else `call_status`, the status of the call. The object is released in both cases.
inline abi::CUresult device_failure_or(abi::CUresult call_status) noexcept {
  const abi::CUresult failure = engine::device_failure();
  return failure != abi::CUDA_SUCCESS ? failure : call_status;
}

// Stores the calling thread's current context if it is usable; otherwise returns the reason.
inline abi::CUresult current_context(model::context*& out) {
  model::context* top = model::this_thread().current();
  if (top == nullptr) return abi::CUDA_ERROR_INVALID_CONTEXT;
  if (const abi::CUresult error = top->status()) return error;
  out = top;
  return abi::CUDA_SUCCESS;
}

// Returns a body for guarded() and its variants: runs body(context) with the calling
// thread's current context.
template <class Body>
auto with_current_context(Body body) {
  return [body](model::process&) {
    model::context* context = nullptr;
    const abi::CUresult status = current_context(context);
    return status == abi::CUDA_SUCCESS ? body(*context) : status;
  };
}

// Looks up a stream and checks that its context is usable. Null and the two default handles refer
// to the current context of the calling thread; inside a host function they are refused. Null is
// also the stream of a call without a stream argument (cuMemcpyHtoD).
abi::CUresult find_stream(model::process& p, abi::CUstream handle, model::stream*& out);

// Like find_stream(), for submitting work. If the stream's capture is invalidated, returns
// CUDA_ERROR_STREAM_CAPTURE_INVALIDATED before any other argument is checked.
inline abi::CUresult find_stream_for_work(model::process& p, abi::CUstream handle,
                                          model::stream*& out) {
  const abi::CUresult status = find_stream(p, handle, out);
  return status != abi::CUDA_SUCCESS ? status : model::check_capture_valid(*out);
}

// Like find_stream(), for a query that does not count as a use of the stream. While a blocking
// stream captures, using the legacy stream invalidates the capture, but querying it only fails.
abi::CUresult find_stream_for_query(model::process& p, abi::CUstream handle, model::stream*& out);

// Return a body for guarded() and its variants: runs body(stream) with the stream that
// find_stream() or find_stream_for_work() returns for a handle.
template <class Body>
auto with_stream(abi::CUstream handle, Body body) {
  return [body, handle](model::process& p) {
    model::stream* found = nullptr;
    const abi::CUresult status = find_stream(p, handle, found);
    return status == abi::CUDA_SUCCESS ? body(*found) : status;
  };
}
template <class Body>
auto with_stream_for_work(abi::CUstream handle, Body body) {
  return with_stream(handle, [body](model::stream& found) {
    const abi::CUresult status = model::check_capture_valid(found);
    return status == abi::CUDA_SUCCESS ? body(found) : status;
  });
}

// Returns when work that is submitted to the stream will access its memory: now, or when the
// captured graph runs.
inline model::access_time access_time_of(const model::stream& s) {
  return s.capture() == nullptr ? model::access_time::now : model::access_time::in_graph;
}

// Returns the context whose device must be able to access the memory of work in a stream: the
// context of the stream. A capture does not check access.
inline model::memory_user memory_user_for(const model::process& p, const model::stream& s) {
  return !p.has_several_devices() || s.capture() != nullptr ? model::memory_user{}
                                                            : model::memory_user{&s.owner(), false};
}

// Like memory_user_for(), for copies: the current context, whichever stream is used; without a
// current context, the stream's.
inline model::memory_user copy_user_for(const model::process& p, const model::stream& s) {
  if (!p.has_several_devices()) return {};
  model::context* const current = model::this_thread().current();
  return {current != nullptr ? current : &s.owner(), true};
}

// Returns true if the address lies in memory that the context's device can read.
inline bool is_accessible(const model::process& p, model::context& user_context,
                          const model::allocation& memory, std::uintptr_t address) {
  if (!memory.allows(model::read_access)) return false;
  return !p.has_several_devices() ||
         model::can_access({&user_context, false}, memory, address, 1, model::read_access);
}

// Looks up an event and checks that its context is usable.
abi::CUresult find_event(model::process& p, abi::CUevent handle, model::event*& out);

// Takes a free object of a handle table, calls open(object) and publishes a handle for it. If
// `open` fails or throws, the object is recycled and the failure is passed on.
template <class Table, class Handle, class Open>
abi::CUresult open_object(Table& table, Handle* out, Open&& open) {
  auto* const created = table.acquire();
  abi::CUresult status;
  try {
    status = open(*created);
  } catch (...) {
    table.recycle(created);
    throw;
  }
  if (status != abi::CUDA_SUCCESS) {
    table.recycle(created);
    return status;
  }
  *out = static_cast<Handle>(table.publish(created));
  return abi::CUDA_SUCCESS;
}

// Creates a stream with validated CU_STREAM_* flags; clamps the priority to the valid range. Throws
// std::bad_alloc.
inline abi::CUresult open_stream(model::context& owner_context, unsigned flags, int priority,
                                 abi::CUstream* out) {
  // A green context has no blocking streams.
  if (owner_context.green()) flags = abi::CU_STREAM_NON_BLOCKING;
  const auto role = flags == abi::CU_STREAM_NON_BLOCKING ? model::stream_role::non_blocking
                                                         : model::stream_role::blocking;
  return open_object(model::this_process().streams, out, [&](model::stream& created) {
    created.open(owner_context, role, flags,
                 std::clamp(priority, model::highest_priority, model::lowest_priority));
    return abi::CUDA_SUCCESS;
  });
}

// Calls body(device) with the device of that ordinal, outside of host functions. Returns
// CUDA_ERROR_INVALID_DEVICE if there is none.
template <class Body>
abi::CUresult with_device(abi::CUdevice ordinal, Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) {
    model::device* const device = p.find_device(ordinal);
    return device != nullptr ? body(*device) : abi::CUDA_ERROR_INVALID_DEVICE;
  });
}

}  // namespace weir::embedded::entry
