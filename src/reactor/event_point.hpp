// SPDX-License-Identifier: Apache-2.0
// reactor/event_point.hpp - points that are events: their value, their record and their query.
#pragma once

#include "driver/active_captures.hpp"
#include "driver/event_pool.hpp"
#include "driver/relaxed_thread_mode.hpp"
#include "driver/table.hpp"

#include <weir/core/errc.hpp>

#include <cstdint>

namespace weir::detail {

[[nodiscard]] inline std::uint64_t to_value(CUevent event) noexcept {
  return reinterpret_cast<std::uintptr_t>(event);
}

[[nodiscard]] inline CUevent to_event(std::uint64_t value) noexcept {
  return reinterpret_cast<CUevent>(static_cast<std::uintptr_t>(value));
}

// Returns stream_capture_unsupported if the stream captures, and stream_capture_invalidated if its
// capture is invalidated. Driver: cuStreamIsCapturing.
[[nodiscard]] driver_result check_not_capturing(CUstream stream);

// Records the event, or one from the pool of the context if `event` is null. Destroys the event if
// recording fails. Driver: cuEventRecord.
[[nodiscard]] driver_result record_event(CUevent& event, CUstream stream, CUcontext context,
                                         unsigned long long context_id);

// Returns success, not_ready or the error of the work. If a capture forbids the query, its answer
// says nothing about the work, and the result is not_ready.
[[nodiscard]] inline errc query_event(CUevent event) noexcept {
  const driver_table& calls = *table_in_use.load(std::memory_order_acquire);
  // Lets the driver answer while this thread or another one captures. Only captures that were begun
  // through weir are counted. For others the driver's own answer stands.
  const relaxed_thread_mode relaxed = active_capture_count.load(std::memory_order_relaxed) == 0
                                          ? relaxed_thread_mode{}
                                          : relaxed_thread_mode{calls};
  const CUresult answer = calls.cuEventQuery(event);
  const bool is_forbidden = answer == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
                            answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT ||
                            answer == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  return is_forbidden ? errc::not_ready : static_cast<errc>(answer);
}

}  // namespace weir::detail
