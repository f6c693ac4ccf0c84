// entry/stream.cpp - cuStream*: making, waiting, asking.
#include "embedded/engine/waiting.hpp"
#include "embedded/entry/device_failure_or.hpp"
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/stream/open_stream.hpp"
#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

namespace {

CUresult create_stream(CUstream* out, unsigned flags, int priority) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (out == nullptr || (flags & ~static_cast<unsigned>(CU_STREAM_NON_BLOCKING)) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult status = current_context(context); status != CUDA_SUCCESS) return status;
    *out = open_stream(p, *context, flags, priority);
    return CUDA_SUCCESS;
  });
}

// What a question does to a stream that captures: an H200 counts some of them as uses.
enum class in_capture { answered, refused };

// Looks a stream up and hands it to a question that has an answer to store.
template <in_capture Then, class Answer, class Query>
CUresult query_stream(CUstream handle, Answer* out, Query question) {
  return guarded([&](model::process& p) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::stream* stream = nullptr;
    if (const CUresult status = find_stream(p, handle, stream); status != CUDA_SUCCESS)
      return status;
    if (Then == in_capture::refused) {
      if (const CUresult status = model::check_not_capturing(*stream); status != CUDA_SUCCESS)
        return status;
    }
    *out = question(*stream);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return create_stream(stream, flags, 0);
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

CUresult cuStreamDestroy_v2(CUstream stream) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* found = p.streams.find(stream);
    if (found != nullptr && !found->owner().alive()) return found->owner().status();
    if (found == nullptr && (stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD)) {
      // It is looked for in the current context before it is refused.
      model::context* context = nullptr;
      if (const CUresult status = current_context(context); status != CUDA_SUCCESS) return status;
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
  return guarded([&](model::process& p) -> CUresult {
    model::stream* found = nullptr;
    if (const CUresult status = find_stream(p, stream, found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = model::check_not_capturing(*found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = model::check_unsafe_call(); status != CUDA_SUCCESS) return status;
    return found->idle() ? engine::device_failure() : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuStreamSynchronize(CUstream stream) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* found = nullptr;
    if (const CUresult status = find_stream(p, stream, found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = model::check_not_capturing(*found); status != CUDA_SUCCESS)
      return status;
    if (const CUresult status = model::check_unsafe_call(); status != CUDA_SUCCESS) return status;
    found->synchronize();
    return engine::device_failure();
  });
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return guarded([&](model::process& p) -> CUresult {
    model::stream* waiting = nullptr;
    if (const CUresult status = find_stream_for_work(p, stream, waiting); status != CUDA_SUCCESS)
      return status;
    if ((flags & ~static_cast<unsigned>(CU_EVENT_WAIT_EXTERNAL)) != 0)
      return CUDA_ERROR_INVALID_VALUE;
    model::event* awaited = nullptr;
    if (const CUresult status = find_event(p, event, awaited); status != CUDA_SUCCESS) {
      model::check_not_capturing(*waiting);  // the one bad argument that breaks a capture
      return status;
    }
    return model::wait_for_event(*waiting, *awaited, flags);
  });
}

}  // namespace weir::embedded::entry
