// SPDX-License-Identifier: Apache-2.0
// embedded/entry/guard.cpp - looks up streams and events by their handles.
#include "embedded/entry/guard.hpp"

#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

using namespace abi;

namespace {

// Finds a default stream of the current context. `effect`: what a use of the legacy stream does to
// the captures of blocking streams.
CUresult find_default_stream(default_stream kind, model::capture_effect effect,
                             model::stream*& out) {
  model::thread_state& thread = model::this_thread();
  if (thread.in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  model::context* context = nullptr;
  if (const CUresult error = current_context(context)) return error;
  if (kind == default_stream::legacy) {
    out = &context->legacy();
    return model::check_legacy_stream_usable(*context, effect);
  }
  // A green context has no per-thread default streams.
  if (context->green()) return CUDA_ERROR_INVALID_HANDLE;
  out = &thread.default_stream(*context);
  return CUDA_SUCCESS;
}

CUresult find(CUstream handle, model::capture_effect effect, model::stream*& out) {
  if (model::stream* found = model::this_process().streams.find(handle)) {
    out = found;
    return found->owner().status();
  }
  if (handle == nullptr) return find_default_stream(null_stream, effect, out);
  if (handle == CU_STREAM_LEGACY) return find_default_stream(default_stream::legacy, effect, out);
  if (handle == CU_STREAM_PER_THREAD)
    return find_default_stream(default_stream::per_thread, effect, out);
  return CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

CUresult find_stream(CUstream handle, model::stream*& out) {
  return find(handle, model::capture_effect::invalidate, out);
}

CUresult find_stream_for_query(CUstream handle, model::stream*& out) {
  return find(handle, model::capture_effect::keep, out);
}

CUresult find_event(CUevent handle, model::event*& out) {
  model::event* found = model::this_process().events.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  out = found;
  return found->owner().status();
}

}  // namespace weir::embedded::entry
