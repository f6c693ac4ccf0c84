// SPDX-License-Identifier: Apache-2.0
// api/device/context_sync.cpp - waits for all work of a context without a call that affects
// captures.
#include "api/device/context_sync.hpp"

#include "api/capture/capture_begin.hpp"
#include "api/capture/capture_checks.hpp"
#include "api/capture/capture_query.hpp"
#include "api/capture/capture_registry.hpp"
#include "api/capture/relaxed_capture_guard.hpp"
#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"
#include "api/event/pooled_event.hpp"
#include "api/stream/stream_state.hpp"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace weir::detail {
namespace {

// Events behind all work that a synchronization waits for.
using work_marks = std::vector<work_mark>;

void add_mark(work_marks& marks, CUstream stream, CUcontext context, call_site at) {
  CUresult answer = CUDA_SUCCESS;
  marks.push_back(mark_work(stream, context, answer, at));
  check(answer, "cuEventRecord", stream_ref{stream}, at);
}

// Marks the work of the legacy default stream, which waits for all blocking streams. They include
// the per-thread default streams. Throws if a blocking stream is capturing, because the record
// would break that capture.
void mark_legacy_stream(work_marks& marks, CUcontext context, call_site at) {
  const make_current current{context, at};
  CUstreamCaptureStatus unused = CU_STREAM_CAPTURE_STATUS_NONE;
  const CUresult answer = driver().cuStreamIsCapturing(CU_STREAM_LEGACY, &unused);
  if (answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT)
    throw_if_context_captured(context, context_sync_call, at);
  check(answer, "cuStreamIsCapturing", subject{context}, at);
  add_mark(marks, CU_STREAM_LEGACY, context, at);
}

// Marks the work of the streams that weir owns, except for capturing ones. A primary context
// includes the streams of the device's green contexts.
void mark_owned_streams(work_marks& marks, CUcontext context, call_site at) {
  const context_info info = context_info_of(context, at);
  for (const stream_state_ref& state : acquire_all_streams()) {
    const stream_properties& stream = state->properties;
    const bool is_in_green_part =
        info.is_primary && stream.green != nullptr && stream.device == info.device;
    if (stream.context != context && !is_in_green_part) continue;
    if (capture_of(state->handle) == no_capture) add_mark(marks, state->handle, context, at);
  }
}

// Adds the marks of the work that capturing streams were given before they took part in a capture.
void add_marks_before_captures(work_marks& marks, CUcontext context) {
  capture_registry::instance().for_each([&](const capture_record& record) {
    if (!record.has_context(context)) return;
    if (record.earlier_work != nullptr) marks.push_back(record.earlier_work);
    for (const joined_stream& each : record.joined)
      if (each.earlier_work != nullptr) marks.push_back(each.earlier_work);
  });
}

// Marks the work of the whole context. Returns the driver's answer; drivers before CUDA 12.5
// cannot.
CUresult mark_context(work_marks& marks, CUcontext context, call_site at) {
  const auto mark = std::make_shared<const pooled_event>(context, at);
  const CUresult answer = driver().cuCtxRecordEvent(context, mark->get());
  if (answer == CUDA_SUCCESS) marks.push_back(mark);
  return answer;
}

// Marks the work that a synchronization waits for. No capture begins through weir meanwhile.
// Returns the answer of mark_context(), or success.
CUresult mark_work_of(CUcontext context, work_marks& marks, call_site at) {
  const std::unique_lock<std::mutex> lock = lock_capture_begin();
  if (!is_context_captured(context)) return mark_context(marks, context, at);
  mark_legacy_stream(marks, context, at);
  mark_owned_streams(marks, context, at);
  add_marks_before_captures(marks, context);
  return CUDA_SUCCESS;
}

}  // namespace

void sync_context(CUcontext context, call_site at) {
  if (any_capture_active()) throw_if_context_captured_here(context, context_sync_call, at);
  const subject object{context};
  work_marks marks;
  const CUresult answer = mark_work_of(context, marks, at);
  // Allows the waits beside captures in global mode that begin meanwhile.
  const relaxed_capture_mode relaxed{at};
  if (answer == CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER) {
    const make_current current{context, at};
    return check(driver().cuCtxSynchronize(), "cuCtxSynchronize", object, at);
  }
  check(answer, "cuCtxRecordEvent", object, at);
  for (const work_mark& mark : marks)
    check(driver().cuEventSynchronize(mark->get()), "cuEventSynchronize", object, at);
}

}  // namespace weir::detail
