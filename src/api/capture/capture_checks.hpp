// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_checks.hpp - refuses calls that would invalidate an open capture.
#pragma once

#include "api/core/call_restrictions.hpp"
#include "api/core/check.hpp"
#include "os/forked_child.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>

namespace weir::detail {

// Returns true if a capture that was begun through weir is open. Costs one load if none is. Returns
// false in a forked child, because open captures belong to the parent.
[[nodiscard]] inline bool any_capture_active() noexcept {
  return active_capture_count.load(std::memory_order_relaxed) != 0 && !os::in_forked_child();
}

// Each of these throws, naming the place where the capture was begun, before the driver is called.
// throw_if_graph_captured() also checks the parts of the graph, and throw_if_part_captured() the
// graphs that belong to `node`.
void throw_if_stream_captured(CUstream stream, const char* call, call_site at);
void throw_if_event_captured(CUevent event, const char* call, call_site at);
void throw_if_context_captured(CUcontext context, const char* call, call_site at);
void throw_if_graph_captured(CUgraph graph, const char* call, call_site at);
void throw_if_part_captured(CUgraph graph, CUgraphNode node, const char* call, call_site at);
// Throws if the capture with the id `capture` records into the body of a conditional node. A body
// can neither allocate nor free memory.
void throw_if_memory_in_body(unsigned long long capture, CUstream stream, const char* call,
                             call_site at);
// Throws an error that says that the graph can no longer be used.
[[noreturn]] void fail_unusable_graph(CUgraph graph, const char* call, call_site at);

}  // namespace weir::detail
