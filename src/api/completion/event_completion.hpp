// api/completion/event_completion.hpp - events that end while somebody waits for them.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/event/event.hpp>

namespace weir::detail {

// Leaves an event of weir's that is about to be destroyed to the completion that asks it. False if
// there is none.
[[nodiscard]] bool leave_event_to_completion(abi::CUevent event) noexcept;

// Refuses (illegal_state) to record an event into a capture of the stream while a completion asks
// it, which would break the capture. cuStreamIsCapturing, if anybody awaits an event at all.
void throw_if_awaited_in_capture(event_ref event, abi::CUstream stream, call_site at);

}  // namespace weir::detail
