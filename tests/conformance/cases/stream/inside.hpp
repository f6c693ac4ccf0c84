// SPDX-License-Identifier: Apache-2.0
// cases/stream/inside.hpp - makes a CUDA call inside a host function, callback, host node or user
// object destructor.
#pragma once

#include "probe/probe.hpp"

#include <functional>
#include <string>

namespace weir::conformance {

// The objects that a call may use.
struct InsideEnv {
  CUstream other = nullptr;
  CUstream self = nullptr;
  CUstream spare = nullptr;   // may be left capturing
  CUstream doomed = nullptr;  // may be destroyed
  CUevent event = nullptr;    // never recorded
  CUevent spare_event = nullptr;
  CUevent done = nullptr;  // recorded with timing, complete
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;  // a memset node in the graph
  CUgraphExec exec = nullptr;
  CUgraphExec spare_exec = nullptr;
  CUdeviceptr mem = 0;
  void* pinned = nullptr;
  Cell cell;
};
using InsideCall = std::function<CUresult(InsideEnv&)>;

// Makes the call inside of `kind` ("hostfn", "callback", "hostnode" or "userobj") and records its
// result.
void run_inside(Rec& r, const std::string& kind, const InsideCall& call);

}  // namespace weir::conformance
