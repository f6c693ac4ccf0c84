// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_checks.hpp - refuses calls that would invalidate an open capture.
#pragma once

#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "os/forked_child.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>

namespace weir::detail {

// Returns true if a capture is open that was begun through weir or has a capture_participant. Costs
// one load if none is. Returns false in a forked child, because open captures belong to the parent.
[[nodiscard]] inline bool any_capture_active() noexcept {
  return active_capture_count.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}

// Says whether the stream takes part in a capture, and whether that capture is valid. Affects no
// capture. Driver: cuStreamIsCapturing.
[[nodiscard]] inline CUstreamCaptureStatus query_capture_status(CUstream stream, call_site at) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  check(driver(at).cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing", stream_ref{stream},
        at);
  return status;
}

// Each function named throw_if_*_captured is called before a driver call, and throws if that call
// would affect an open capture. The error names the place where the capture was begun, if it is
// known. throw_if_stream_captured() queries the driver and finds every capture of the stream. The
// others find only captures that were begun through weir or have a capture_participant.

// Throws if the stream takes part in a capture, valid or invalidated.
void throw_if_stream_captured(CUstream stream, const char* call, call_site at);
// Throws if the event's last record is part of a capture.
void throw_if_event_captured(CUevent event, const char* call, call_site at);
// Throws if a stream of the context takes part in a capture.
void throw_if_context_captured(CUcontext context, const char* call, call_site at);
// Like throw_if_context_captured(), but considers only captures that the calling thread began.
void throw_if_context_captured_here(CUcontext context, const char* call, call_site at);
// Returns true if a stream of the context takes part in a capture.
[[nodiscard]] bool is_context_captured(CUcontext context);
// Throws if a capture records into the graph or into a subgraph of it (graph_parts.hpp).
void throw_if_graph_captured(CUgraph graph, const char* call, call_site at);
// Throws if a capture records into a child graph or body of `node`, or into a subgraph of those.
void throw_if_part_captured(CUgraph graph, CUgraphNode node, const char* call, call_site at);
// Throws if the capture with the id `capture` records into the body of a conditional node. Called
// before memory is allocated or freed, because a body can do neither.
void throw_if_memory_in_body(unsigned long long capture, CUstream stream, const char* call,
                             call_site at);
// Throws the error for an unusable graph: see mark_destroyed() in graph_parts.hpp.
[[noreturn]] void fail_unusable_graph(CUgraph graph, const char* call, call_site at);

}  // namespace weir::detail
