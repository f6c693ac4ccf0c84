// SPDX-License-Identifier: Apache-2.0
// embedded/entry/guard.cpp - looks up streams and events by their handles.
#include "embedded/entry/guard.hpp"

#include "embedded/model/capture/capture.hpp"

namespace weir::embedded::entry {

using namespace abi;

namespace {

CUresult find_default_stream(bool per_thread, bool for_query, model::stream*& out) {
  model::thread_state& thread = model::this_thread();
  if (thread.in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  model::context* context = nullptr;
  if (const CUresult status = current_context(context); status != CUDA_SUCCESS) return status;
  // A green context has no per-thread default streams.
  if (per_thread && context->green()) return CUDA_ERROR_INVALID_HANDLE;
  out = per_thread ? &thread.default_stream(*context) : &context->legacy();
  return per_thread ? CUDA_SUCCESS : model::check_legacy_stream_usable(*context, !for_query);
}

CUresult find(model::process& p, CUstream handle, bool for_query, model::stream*& out) {
  if (model::stream* found = p.streams.find(handle)) {
    out = found;
    return found->owner().status();
  }
  if (handle == nullptr) return find_default_stream(null_is_per_thread(), for_query, out);
  if (handle == CU_STREAM_LEGACY) return find_default_stream(false, for_query, out);
  if (handle == CU_STREAM_PER_THREAD) return find_default_stream(true, for_query, out);
  return CUDA_ERROR_INVALID_HANDLE;
}

}  // namespace

CUresult find_stream(model::process& p, CUstream handle, model::stream*& out) {
  return find(p, handle, false, out);
}

CUresult find_stream_for_query(model::process& p, CUstream handle, model::stream*& out) {
  return find(p, handle, true, out);
}

CUresult find_event(model::process& p, CUevent handle, model::event*& out) {
  model::event* found = p.events.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  out = found;
  return found->owner().status();
}

CUresult find_null_stream(model::process& p, model::stream*& out) {
  return find_stream(p, nullptr, out);
}

}  // namespace weir::embedded::entry
