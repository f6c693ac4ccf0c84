// SPDX-License-Identifier: Apache-2.0
// api/completion/event_completion.hpp - completions of events, and what they forbid.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/event/event.hpp>

namespace weir::detail {

// Passes the ownership of an event that weir is about to destroy to the pending completion that
// queries it. Returns false if there is none.
[[nodiscard]] bool leave_event_to_completion(abi::CUevent event) noexcept;

// Throws illegal_state if the stream captures and a pending completion queries the event: recording
// that query would invalidate the capture. Driver: cuStreamIsCapturing, only if an event has a
// completion.
void throw_if_awaited_in_capture(event_ref event, abi::CUstream stream, call_site at);

}  // namespace weir::detail
