// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_begin.hpp - begins captures.
#pragma once

#include "api/capture/capture_record.hpp"

#include <weir/capture/capture.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/core/call_site.hpp>

#include <mutex>

namespace weir::detail {

// Throws unless the mode is a value of weir::capture_mode. The driver itself does not check the
// number.
void require_valid_mode(capture_mode mode, const char* call, subject object, call_site at);

// The existing graph that a capture records into, and the nodes that its first operation depends
// on.
struct capture_target {
  CUgraph graph;
  frontier_list dependencies;
  graph_ownership ownership;
  weir::graph* owner;  // object that owns the graph; null if a borrowed graph's owner is not known
};

// Begins a capture and adds its record to the capture_registry. If `target` is null, the capture
// records into a new graph. If the function throws, it has begun no capture, or has ended it again.
active_capture begin_active_capture(stream_ref stream, capture_options options, capture_end end,
                                    call_site at, const capture_target* target = nullptr);

// Locks a mutex that excludes two actions from each other: the begin of a capture, and the check
// and use of a stream or context that must not be capturing. An event recorded in a capturing
// stream would become part of the capture, and a query of that event would invalidate the capture.
//
// A holder finds each capture that was begun through weir in the capture_registry. It makes only
// driver calls that do not wait for the device.
//
// In a forked child the returned lock is empty, because a child has no reclaimer thread.
[[nodiscard]] std::unique_lock<std::mutex> lock_capture_begin() noexcept;

}  // namespace weir::detail
