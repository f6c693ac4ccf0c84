// SPDX-License-Identifier: Apache-2.0
// weir/detail/direct_call.hpp - the most frequent driver calls, with minimal overhead.
#pragma once

#include <weir/core/errc.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>

namespace weir::detail {

/// The result of a direct call: the code that the driver returned, or `not_called`. A direct call
/// does not call the driver if more has to be checked first. This is the case in a host function,
/// while a capture is active, for a closed handle, and before the first use of a driver. The caller
/// then makes the complete call, which is not inline. Values below `not_called` encode a failure of
/// cuEventRecord (thread_event.hpp).
enum class direct_status : int {
  not_called = -1,
  success = static_cast<int>(errc::success),
  not_ready = static_cast<int>(errc::not_ready),
};

/// Converts the code that the driver returned. `status` must not be below success.
constexpr errc to_errc(direct_status status) noexcept {
  return static_cast<errc>(static_cast<int>(status));
}

// The next four functions check for the cases of `not_called` and jump into the driver. The driver
// returns directly to the caller, so no stack frame of weir is in between. They take no call site,
// because it is needed only after a failure.
WEIR_EXPORT direct_status query(CUevent_st* event);                          ///< cuEventQuery
WEIR_EXPORT direct_status query(CUstream_st* stream);                        ///< cuStreamQuery
WEIR_EXPORT direct_status record(CUevent_st* event, CUstream_st* stream);    ///< cuEventRecord
WEIR_EXPORT direct_status wait_for(CUstream_st* stream, CUevent_st* event);  ///< cuStreamWaitEvent

/// Makes `stream` wait for the work queued in `awaited`: calls cuEventRecord with the thread's
/// cached event, then cuStreamWaitEvent. Also returns not_called if the thread has no cached event
/// for `awaited`, or if both are one stream. A result below not_called is a failure of
/// cuEventRecord.
WEIR_EXPORT direct_status wait_for(CUstream_st* stream, CUstream_st* awaited);

}  // namespace weir::detail
