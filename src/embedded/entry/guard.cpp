// SPDX-License-Identifier: Apache-2.0
// embedded/entry/guard.cpp - looks up streams and events by their handles.
#include "embedded/entry/guard.hpp"

#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

using namespace abi;

namespace {

// Whether a call uses a stream or only queries it. A use of the legacy stream invalidates the
// captures of blocking streams; a query does not.
enum class access_kind { use, query };

CUresult find_default_stream(default_stream kind, access_kind access, model::stream*& out) {
  model::thread_state& thread = model::this_thread();
  if (thread.in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  model::context* context = nullptr;
  if (const CUresult error = current_context(context)) return error;
  if (kind == default_stream::legacy) {
    out = &context->legacy();
    return model::check_legacy_stream_usable(*context, access == access_kind::use
                                                           ? model::capture_effect::invalidate
                                                           : model::capture_effect::keep);
  }
  // A green context has no per-thread default streams.
  if (context->green()) return CUDA_ERROR_INVALID_HANDLE;
  out = &thread.default_stream(*context);
  return CUDA_SUCCESS;
}

CUresult find(model::process& p, CUstream handle, access_kind access, model::stream*& out) {
  if (model::stream* found = p.streams.find(handle)) {
    out = found;
    return found->owner().status();
  }
  if (handle == nullptr) return find_default_stream(null_stream, access, out);
  if (handle == CU_STREAM_LEGACY) return find_default_stream(default_stream::legacy, access, out);
  if (handle == CU_STREAM_PER_THREAD)
    return find_default_stream(default_stream::per_thread, access, out);
  return CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

CUresult find_stream(model::process& p, CUstream handle, model::stream*& out) {
  return find(p, handle, access_kind::use, out);
}

CUresult find_stream_for_query(model::process& p, CUstream handle, model::stream*& out) {
  return find(p, handle, access_kind::query, out);
}

CUresult find_event(model::process& p, CUevent handle, model::event*& out) {
  model::event* found = p.events.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  out = found;
  return found->owner().status();
}

}  // namespace weir::embedded::entry
