// SPDX-License-Identifier: Apache-2.0
// api/completion/event_completion.hpp - restrictions for events that have a pending completion.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/event/event.hpp>

namespace weir::detail {

// Called when weir is about to destroy an event. If a pending completion queries the event, makes
// the completion's queue its owner and returns true. Returns false if there is none, and the caller
// destroys the event.
[[nodiscard]] bool leave_event_to_completion(abi::CUevent event) noexcept;

// Called before `event` is recorded in `stream`. Throws illegal_state if the stream is capturing
// and a pending completion queries the event, because a query of a captured event invalidates the
// capture. Driver: cuStreamIsCapturing, only if any event has a completion.
void throw_if_awaited_in_capture(event_ref event, abi::CUstream stream, call_site at);

}  // namespace weir::detail
