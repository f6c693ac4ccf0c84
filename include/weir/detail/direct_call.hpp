// SPDX-License-Identifier: Apache-2.0
// weir/detail/direct_call.hpp - the most frequent driver calls, with minimal overhead.
#pragma once

#include <weir/core/errc.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>

namespace weir::detail {

/// The result of a direct call: the code that the driver returned, or `not_called`. A direct call
/// does not call the driver if something must be checked first: in a host function, while a capture
/// is active, for a closed handle, and before the first use of a driver. The complete call then
/// follows, out of line. Values below `not_called` encode a failed record (thread_event.hpp).
enum class direct_status : int {
  not_called = -1,
  success = static_cast<int>(errc::success),
  not_ready = static_cast<int>(errc::not_ready),
};

/// Converts a result of the driver to its code.
constexpr errc to_errc(direct_status status) noexcept {
  return static_cast<errc>(static_cast<int>(status));
}

// These functions make four checks and jump into the driver, which returns to the caller; no stack
// frame of weir is in between. The call site is only needed after a failure.
WEIR_EXPORT direct_status query(CUevent_st* event);                          ///< cuEventQuery
WEIR_EXPORT direct_status query(CUstream_st* stream);                        ///< cuStreamQuery
WEIR_EXPORT direct_status record(CUevent_st* event, CUstream_st* stream);    ///< cuEventRecord
WEIR_EXPORT direct_status wait_for(CUstream_st* stream, CUevent_st* event);  ///< cuStreamWaitEvent

/// Calls cuEventRecord with the thread's cached event, then cuStreamWaitEvent. Codes below
/// not_called are failures of cuEventRecord.
WEIR_EXPORT direct_status wait_for(CUstream_st* stream, CUstream_st* awaited);

}  // namespace weir::detail
