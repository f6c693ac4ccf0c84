// weir/detail/direct_call.hpp - the calls that are made most, from the program's code to the
// driver's with little in between.
#pragma once

#include <weir/core/errc.hpp>
#include <weir/core/handle.hpp>
#include <weir/detail/export.hpp>

namespace weir::detail {

// The answer where the driver was not asked because something has to be looked at first: in a host
// function, while a capture is open, for a closed handle, before the first use of a driver. No
// driver has this code. The whole call then follows, out of line.
inline constexpr errc not_called = static_cast<errc>(-1);

// Four looks and a jump into the driver, which returns to the caller: no frame of weir's is in
// between. The place in the source that an error names is put together after a failure only.
WEIR_EXPORT errc query(CUevent_st* event);                          // cuEventQuery
WEIR_EXPORT errc query(CUstream_st* stream);                        // cuStreamQuery
WEIR_EXPORT errc record(CUevent_st* event, CUstream_st* stream);    // cuEventRecord
WEIR_EXPORT errc wait_for(CUstream_st* stream, CUevent_st* event);  // cuStreamWaitEvent

// cuEventRecord with the event that the thread keeps for that, cuStreamWaitEvent. Codes below
// not_called are the record's failures.
WEIR_EXPORT errc wait_for(CUstream_st* stream, CUstream_st* awaited);

}  // namespace weir::detail
