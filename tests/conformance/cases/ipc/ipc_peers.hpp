// SPDX-License-Identifier: Apache-2.0
// cases/ipc/ipc_peers.hpp - helpers of the cases with another process.
#pragma once

#include "probe/probe.hpp"
#include "probe/process/ipc_peer.hpp"

namespace weir::conformance {

// Another process, with its context created.
class Exporter : public Peer {
 public:
  Exporter() { must("init", 8000); }
};

// The flags required for an interprocess event.
inline constexpr unsigned SHARED_EVENT = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

// Returns the address of host memory, for calls that take any address.
inline CUdeviceptr hp(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

// Records a word of device memory, or why it cannot be read.
inline void rec_word(Rec& r, const std::string& key, CUdeviceptr p) {
  uint32_t v = 0;
  const CUresult e = cuMemcpyDtoH(&v, p, 4);
  if (e == CUDA_SUCCESS) {
    r.k(key, v);
  } else {
    r.k(key, e);
  }
}

// Ends a capture, instantiates the graph, and records both.
inline void rec_end_and_instantiate(Rec& r, const std::string& key, CUstream s) {
  CUgraph graph = nullptr;
  if (r.k(key, cuStreamEndCapture(s, &graph)) != CUDA_SUCCESS || graph == nullptr) return;
  r.k(key + ".graph", describe(graph));
  CUgraphExec exec = nullptr;
  r.k(key + ".instantiate", cuGraphInstantiate(&exec, graph, 0));
  if (exec) cuGraphExecDestroy(exec);
  cuGraphDestroy(graph);
}

}  // namespace weir::conformance
