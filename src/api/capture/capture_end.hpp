// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_end.hpp - ends captures.
#pragma once

#include "api/capture/capture_record.hpp"

#include <weir/core/call_site.hpp>
#include <weir/stream/stream.hpp>

namespace weir::detail {

inline constexpr const char* end_capture_call = "cuStreamEndCapture";

// The parameters of a call that ends a capture.
struct end_request {
  stream_ref stream;
  graph_ownership ownership;  // of the graph, as the called function expects it
  unsigned long long scope;   // id of the capture that the caller's scope began; 0: no scope
  call_site at;
};

// The graph of an ended capture and the context in which the graph is to be instantiated. The
// context is null if the capture was started directly through the driver.
struct ended_capture {
  CUgraph graph = nullptr;
  CUcontext instantiate_context = nullptr;
};

// Ends the capture of a stream and returns its graph.
//
// Throws if the caller may not end the capture, which stays valid (require_endable()). Throws the
// error of the end. A graph that the capture owns is then destroyed. The recorded nodes are removed
// from a borrowed graph. The driver destroys a borrowed graph if the capture was invalidated, or if
// a stream that joined directly through the driver was not joined back.
ended_capture end_active_capture(const end_request& request);

}  // namespace weir::detail
