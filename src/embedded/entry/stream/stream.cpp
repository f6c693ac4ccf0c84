// SPDX-License-Identifier: Apache-2.0
// embedded/entry/stream/stream.cpp - cuStream*: creation, waits, queries, attributes, host
// functions.
#include "embedded/engine/waiting.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/stream/stream_attributes.hpp"

namespace weir::embedded::entry {

namespace {

// How query_stream() treats a capturing stream. `answered`: answers the query, unless the capture
// is invalid. `refused`: returns an error and invalidates the capture. As on an H200, some queries
// count as uses of the stream.
enum class in_capture { answered, refused };

// Looks up a stream and stores question(stream) in `*out`.
template <in_capture Reaction, class Answer, class Query>
CUresult query_stream(CUstream handle, Answer* out, Query question) {
  return guarded([&] {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* stream = nullptr;
    if (const CUresult error = find_stream(handle, stream)) return error;
    if (Reaction == in_capture::refused) {
      if (const CUresult error = model::check_not_capturing(*stream)) return error;
    } else if (const CUresult error = model::check_capture_valid(*stream)) {
      return error;
    }
    *out = question(*stream);
    return CUDA_SUCCESS;
  });
}

// Returns an error if captures prohibit that the host queries the stream's work or waits for it.
CUresult check_host_wait(model::stream& target_stream) {
  const CUresult status = model::check_not_capturing(target_stream);
  return status != CUDA_SUCCESS ? status : model::check_unsafe_call();
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return guarded_outside_host_functions([&] {
    if (stream == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return open_stream(*context, flags, priority, stream);
  });
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  return guarded([&] {
    model::stream* found = model::this_process().streams.find(stream);
    if (found != nullptr && !found->owner().alive()) return found->owner().status();
    if (found == nullptr && (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)) {
      // As on an H200, the error of the current context precedes the error of the handle.
      model::context* context = nullptr;
      if (const CUresult error = current_context(context)) return error;
    }
    return found != nullptr ? device_failure_or(model::stream::destroy(*found, stream))
                            : CUDA_ERROR_INVALID_HANDLE;
  });
}

CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return query_stream<in_capture::refused>(stream, flags,
                                           [](const model::stream& s) { return s.flags(); });
}

CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return query_stream<in_capture::answered>(stream, priority,
                                            [](const model::stream& s) { return s.priority(); });
}

CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return query_stream<in_capture::refused>(stream, id,
                                           [](const model::stream& s) { return s.id(); });
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  return query_stream<in_capture::refused>(
      stream, device, [](const model::stream& s) { return s.owner().owner().ordinal(); });
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return query_stream<in_capture::answered>(
      stream, context, [](const model::stream& s) { return s.owner().handle(); });
}

CUresult cuStreamQuery(CUstream stream) {
  return guarded(with_stream(stream, [&](model::stream& found) {
    if (const CUresult error = check_host_wait(found)) return error;
    return found.idle() ? engine::device_failure() : CUDA_ERROR_NOT_READY;
  }));
}

CUresult cuStreamSynchronize(CUstream stream) {
  return guarded(with_stream(stream, [&](model::stream& found) {
    if (const CUresult error = check_host_wait(found)) return error;
    found.synchronize();
    return engine::device_failure();
  }));
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return guarded(with_stream_for_work(stream, [&](model::stream& waiting) {
    if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    model::event* awaited = nullptr;
    if (const CUresult status = find_event(event, awaited); status != CUDA_SUCCESS) {
      // As on an H200, an invalid event invalidates the stream's capture; other invalid arguments
      // do not.
      model::check_not_capturing(waiting);  // invalidates it
      return status;
    }
    return model::wait_for_event(waiting, *awaited, flags);
  }));
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data) {
  return guarded([&] {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult error = find_stream(stream, found)) return error;
    return found->submit(model::host_work{function, user_data});
  });
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* user_data,
                             unsigned flags) {
  return guarded([&] {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    model::stream* found = nullptr;
    if (const CUresult error = find_stream(stream, found)) return error;
    if (const CUresult error = model::check_not_capturing(*found)) return error;
    found->submit(engine::make_unconditional_operation(
        model::callback_work{callback, stream, user_data}, engine::operation_kind::host));
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return guarded(with_stream_for_work(stream, [&](model::stream& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : model::get_attribute(found, attribute, *value);
  }));
}

CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attribute,
                              const CUstreamAttrValue* value) {
  return guarded(with_stream_for_work(stream, [&](model::stream& found) {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : model::set_attribute(found, attribute, *value);
  }));
}

CUresult cuStreamCopyAttributes(CUstream dst, CUstream src) {
  return guarded(with_stream_for_work(dst, [&](model::stream& target_stream) {
    model::stream* source_stream = nullptr;
    if (const CUresult error = find_stream(src, source_stream)) return error;
    if (const CUresult error = model::check_capture_valid(*source_stream)) return error;
    return model::copy_attributes(target_stream, *source_stream);
  }));
}

}  // namespace weir::embedded::entry
