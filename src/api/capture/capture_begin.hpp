// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_begin.hpp - begins captures.
#pragma once

#include "api/capture/capture_record.hpp"

#include <weir/capture/capture.hpp>
#include <weir/capture/capture_frontier.hpp>
#include <weir/core/call_site.hpp>

#include <mutex>

namespace weir::detail {

// Throws unless the mode is a value of weir::capture_mode. The driver accepts any number.
void require_valid_mode(capture_mode mode, const char* call, subject object, call_site at);

// The existing graph that a capture records into.
struct capture_target {
  CUgraph graph;
  frontier_list dependencies;
  graph_ownership ownership;
  weir::graph* owner;  // closed if the driver destroys the graph; may be null if it is borrowed
};

// Begins a capture and registers it. The capture records into a new graph if `target` is null. If
// it throws, no capture is open.
active_capture begin_active_capture(stream_ref stream, capture_options options, capture_end end,
                                    call_site at, const capture_target* target = nullptr);

// Locked while a capture begins, and while the reclaimer thread records events in streams that must
// not capture. Such a record would become part of the capture, and a query would invalidate it.
// Nothing is locked in a forked child, which has no reclaimer thread.
[[nodiscard]] std::unique_lock<std::mutex> lock_capture_begin() noexcept;

}  // namespace weir::detail
