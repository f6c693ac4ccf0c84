// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_matrix.hpp - the calls made while a stream captures, in one table for all
// modes.
#pragma once

#include "probe/probe.hpp"

#include <functional>
#include <vector>

namespace weir::conformance {

// The objects that a call may use.
struct MatrixEnv {
  CUstream cap = nullptr;     // capturing
  CUstream other = nullptr;   // not capturing, non-blocking
  CUstream otherb = nullptr;  // not capturing, blocking
  CUevent unrec = nullptr;    // never recorded
  CUevent done = nullptr;     // recorded and complete (timing)
  CUevent done2 = nullptr;
  CUgraph graph = nullptr;  // one empty node
  CUgraphExec exec = nullptr;
  CUgraphExec exec2 = nullptr;
  CUdeviceptr mem = 0;
  CUdeviceptr amem = 0;  // from cuMemAllocAsync
  CUdeviceptr managed = 0;
  void* host = nullptr;
  void* page = nullptr;  // page-aligned, not registered
  void* regd = nullptr;  // registered
  CUmemoryPool pool = nullptr;
  CUmemoryPool own_pool = nullptr;
  CUgraph graph2 = nullptr;  // a memset node and a host node
  CUgraphNode node_set = nullptr, node_host = nullptr;
  CUgraphExec exec3 = nullptr;  // of graph2
  CUevent ipc = nullptr;
  std::vector<std::function<void()>> undo;
};

struct MatrixCall {
  const char* name;
  std::function<CUresult(MatrixEnv&)> call;
};

// In the order of the recording: memory, events, streams and contexts; the legacy stream; other
// streams; queries; graphs.
using MatrixCalls = std::vector<MatrixCall>;
MatrixCalls matrix_objects();
MatrixCalls matrix_streams();
MatrixCalls matrix_queries();
MatrixCalls matrix_graphs();
const MatrixCalls& matrix_calls();  // all of them

}  // namespace weir::conformance
