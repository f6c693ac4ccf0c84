// SPDX-License-Identifier: Apache-2.0
// embedded/entry/guard.hpp - checks that every entry point makes first, and the lookup of handles.
#pragma once

#include <algorithm>
#include <new>
#include <type_traits>

#include "driver/abi.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/entry/default_stream.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/core/process.hpp"
#include "embedded/model/core/thread_state.hpp"
#include "embedded/model/stream/transfer.hpp"

namespace weir::embedded::entry {

// Runs body() and converts exceptions to result codes, because an exception must not leave a C
// function.
template <class Body>
abi::CUresult catch_exceptions(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return abi::CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return abi::CUDA_ERROR_UNKNOWN;
  }
}

// Runs the body of an entry point that a host function may call. Such an entry point names its
// stream or event, or needs no state of the thread.
template <class Body>
abi::CUresult guarded(Body&& body) noexcept {
  if (!model::this_process().initialised()) return abi::CUDA_ERROR_NOT_INITIALIZED;
  return catch_exceptions(body);
}

// Like guarded(), for an entry point that a host function may not call: returns
// CUDA_ERROR_NOT_PERMITTED there.
template <class Body>
abi::CUresult guarded_outside_host_functions(Body&& body) noexcept {
  return guarded([&] {
    if (model::this_thread().in_host_function) return abi::CUDA_ERROR_NOT_PERMITTED;
    return body();
  });
}

// Like guarded_outside_host_functions(), for a call that is unsafe during a capture, for example
// because it allocates or frees memory (model::check_unsafe_call()).
template <class Body>
abi::CUresult guarded_outside_captures(Body&& body) noexcept {
  return guarded_outside_host_functions([&] {
    if (const abi::CUresult error = model::check_unsafe_call()) return error;
    return body();
  });
}

// Returns CUDA_ERROR_INVALID_VALUE for an argument of an entry point that a host function may not
// call. For an argument whose check precedes the look-up of the call's object: the checks of every
// entry point still come first.
inline abi::CUresult reject_argument() noexcept {
  return guarded_outside_host_functions([] { return abi::CUDA_ERROR_INVALID_VALUE; });
}

// Returns the result of a call that releases an object: the device's failure if the device has
// failed, else `call_status`, the status of the call. The object is released in both cases.
inline abi::CUresult device_failure_or(abi::CUresult call_status) noexcept {
  const abi::CUresult failure = engine::device_failure();
  return failure != abi::CUDA_SUCCESS ? failure : call_status;
}

// Stores a value for the program. Returns CUDA_ERROR_INVALID_VALUE if `out` is null.
template <class Value>
abi::CUresult store(Value* out, const std::type_identity_t<Value>& value) {
  if (out == nullptr) return abi::CUDA_ERROR_INVALID_VALUE;
  *out = value;
  return abi::CUDA_SUCCESS;
}

// Returns true if all elements of a structure's `reserved` member are 0, as the driver requires.
bool are_all_zero(const auto& reserved) {
  return std::ranges::all_of(reserved, [](auto element) { return element == 0; });
}

// Stores the calling thread's current context. Returns an error if there is none, or if it is not
// usable.
inline abi::CUresult current_context(model::context*& out) {
  model::context* top = model::this_thread().current();
  if (top == nullptr) return abi::CUDA_ERROR_INVALID_CONTEXT;
  if (const abi::CUresult error = top->status()) return error;
  out = top;
  return abi::CUDA_SUCCESS;
}

// Returns a body for guarded() and its variants, which runs body(context) with the calling thread's
// current context.
template <class Body>
auto with_current_context(Body body) {
  return [body] {
    model::context* context = nullptr;
    const abi::CUresult status = current_context(context);
    return status == abi::CUDA_SUCCESS ? body(*context) : status;
  };
}

// Like guarded_outside_captures(), for a call that needs a current context: runs body(context).
// Without a context, the call fails before it breaks a capture.
template <class Body>
abi::CUresult guarded_in_context_outside_captures(Body body) noexcept {
  return guarded_outside_host_functions(with_current_context([&](model::context& context) {
    const abi::CUresult status = model::check_unsafe_call();
    return status == abi::CUDA_SUCCESS ? body(context) : status;
  }));
}

// Looks up a stream and checks that its context is usable. Null, CU_STREAM_LEGACY and
// CU_STREAM_PER_THREAD mean default streams of the current context; they are an error inside a host
// function. Null is also passed for a call without a stream argument, such as cuMemcpyHtoD.
abi::CUresult find_stream(abi::CUstream handle, model::stream*& out);

// Returns true if the handle means the legacy stream in the current call.
inline bool is_legacy_stream(abi::CUstream handle) noexcept {
  return handle == abi::CU_STREAM_LEGACY ||
         (handle == nullptr && null_stream == default_stream::legacy);
}

// Like find_stream(), for a query that does not count as a use of the stream. If a blocking stream
// of the context captures, a use of the legacy stream is an error and invalidates the capture. A
// query is an error, but leaves the capture valid.
abi::CUresult find_stream_for_query(abi::CUstream handle, model::stream*& out);

// Returns a body for guarded() and its variants, which runs body(stream) with the stream that
// find_stream() finds.
template <class Body>
auto with_stream(abi::CUstream handle, Body body) {
  return [body, handle] {
    model::stream* found = nullptr;
    const abi::CUresult status = find_stream(handle, found);
    return status == abi::CUDA_SUCCESS ? body(*found) : status;
  };
}

// Like with_stream(), for a call that submits work. Returns CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
// if the stream is part of an invalidated capture. The body checks the other arguments.
template <class Body>
auto with_stream_for_work(abi::CUstream handle, Body body) {
  return with_stream(handle, [body](model::stream& found) {
    const abi::CUresult status = model::check_capture_valid(found);
    return status == abi::CUDA_SUCCESS ? body(found) : status;
  });
}

// Returns access_time::in_graph if the stream captures, so that its work runs later as part of a
// graph; else access_time::now.
inline model::access_time access_time_of(const model::stream& s) {
  return s.capture() == nullptr ? model::access_time::now : model::access_time::in_graph;
}

// Returns the context whose device must be able to access the memory of work in a stream: the
// context of the stream. In a capture, and with a single device, returns an empty memory_user, so
// that no access is checked.
inline model::memory_user memory_user_for(const model::stream& s) {
  return !model::this_process().has_several_devices() || s.capture() != nullptr
             ? model::memory_user{}
             : model::memory_user{&s.owner(), false};
}

// Like memory_user_for(), for copies: returns the current context, or the stream's context if none
// is current. Also in a capture.
inline model::memory_user copy_user_for(const model::stream& s) {
  if (!model::this_process().has_several_devices()) return {};
  model::context* const current = model::this_thread().current();
  return {current != nullptr ? current : &s.owner(), true};
}

// Returns true if the address lies in memory that the context's device can read.
inline bool is_accessible(model::context& user_context, const model::allocation& memory,
                          std::uintptr_t address) {
  if (!memory.allows(model::read_access)) return false;
  return !model::this_process().has_several_devices() ||
         model::can_access({&user_context, false}, memory, address, 1, model::read_access);
}

// Looks up an event and checks that its context is usable.
abi::CUresult find_event(abi::CUevent handle, model::event*& out);

// Takes a free object of a handle table, calls open(object), and stores a new handle of the object.
// If `open` returns an error or throws, recycles the object and passes the error on.
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

// Clamps a priority to the range of streams and nodes.
inline int priority_in_range(int requested) noexcept {
  return std::clamp(requested, model::highest_priority, model::lowest_priority);
}

// Creates a stream. The caller has checked the CU_STREAM_* flags. Clamps the priority to the valid
// range. Throws std::bad_alloc.
inline abi::CUresult open_stream(model::context& owner_context, unsigned flags, int priority,
                                 abi::CUstream* out) {
  // A green context has no blocking streams.
  if (owner_context.green()) flags = abi::CU_STREAM_NON_BLOCKING;
  const auto role = flags == abi::CU_STREAM_NON_BLOCKING ? model::stream_role::non_blocking
                                                         : model::stream_role::blocking;
  return open_object(model::this_process().streams, out, [&](model::stream& created) {
    created.open(owner_context, role, flags, priority_in_range(priority));
    return abi::CUDA_SUCCESS;
  });
}

// Calls body(device) with the device of that ordinal, outside of host functions. Returns
// CUDA_ERROR_INVALID_DEVICE if there is none.
template <class Body>
abi::CUresult with_device(abi::CUdevice ordinal, Body&& body) noexcept {
  return guarded_outside_host_functions([&] {
    model::device* const device = model::this_process().find_device(ordinal);
    return device != nullptr ? body(*device) : abi::CUDA_ERROR_INVALID_DEVICE;
  });
}

}  // namespace weir::embedded::entry
