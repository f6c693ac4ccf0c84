// SPDX-License-Identifier: Apache-2.0
// api/capture/capture_end.hpp - ends captures.
#pragma once

#include "api/capture/capture_record.hpp"

#include <weir/core/call_site.hpp>
#include <weir/stream/stream.hpp>

namespace weir::detail {

inline constexpr const char* end_capture_call = "cuStreamEndCapture";

struct end_request {
  stream_ref stream;
  graph_ownership ownership;  // of the capture that the caller wants to end
  unsigned long long scope;   // the id of the capture that the caller's scope began, or 0
  call_site at;
};

// The graph of a capture and the context in which it is to be instantiated.
struct ended_capture {
  CUgraph graph = nullptr;
  CUcontext instantiate_context = nullptr;
};

// Ends the capture of a stream and returns its graph.
//
// If the end throws, a graph that the capture owns is destroyed. A borrowed graph is restored,
// unless the capture was invalidated or a stream that joined directly through the driver was not
// joined back.
ended_capture end_active_capture(const end_request& request);

}  // namespace weir::detail
