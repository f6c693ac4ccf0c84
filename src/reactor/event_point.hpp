// SPDX-License-Identifier: Apache-2.0
// reactor/event_point.hpp - events that mark points in a stream's work: recording and querying
// them.
#pragma once

#include "driver/active_captures.hpp"
#include "driver/event_pool.hpp"
#include "driver/relaxed_thread_mode.hpp"
#include "driver/table.hpp"

#include <weir/core/errc.hpp>

#include <cstdint>

namespace weir::detail {

// Returns an event's handle as a value for pending_point::value.
[[nodiscard]] inline std::uint64_t to_value(CUevent event) noexcept {
  return reinterpret_cast<std::uintptr_t>(event);
}

// Returns the event of a value that to_value() has returned.
[[nodiscard]] inline CUevent to_event(std::uint64_t value) noexcept {
  return reinterpret_cast<CUevent>(static_cast<std::uintptr_t>(value));
}

// Returns stream_capture_unsupported if the stream captures, and stream_capture_invalidated if its
// capture is invalidated. Driver: cuStreamIsCapturing.
[[nodiscard]] driver_result check_not_capturing(CUstream stream);

// Records the event in the stream. If `event` is null, first sets it to an event from the event
// pool of the context (event_pool.hpp). Destroys the event if recording fails. Driver:
// cuEventRecord.
[[nodiscard]] driver_result record_event(CUevent& event, CUstream stream, CUcontext context,
                                         unsigned long long context_id);

// Returns success if the event is complete, not_ready if it is pending, else the error of the
// stream's work. Also returns not_ready if a capture forbids the query, because the driver's answer
// then says nothing about the work.
[[nodiscard]] inline errc query_event(CUevent event) noexcept {
  const driver_table& calls = *table_in_use.load(std::memory_order_acquire);
  // Lets the driver answer while this thread or another one captures. Only captures that were begun
  // through weir are counted. During others the driver may forbid the query.
  const relaxed_thread_mode relaxed = relaxed_mode_reasons.load(std::memory_order_relaxed) == 0
                                          ? relaxed_thread_mode{}
                                          : relaxed_thread_mode{calls};
  const CUresult answer = calls.cuEventQuery(event);
  const bool is_forbidden = answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
                            answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
                            answer == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  return is_forbidden ? errc::not_ready : static_cast<errc>(answer);
}

}  // namespace weir::detail
