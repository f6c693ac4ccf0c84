// SPDX-License-Identifier: Apache-2.0
// probe/owners.cpp - driver objects that are destroyed at the end of a case.
#include "probe/owners.hpp"

#include "probe/driver.hpp"
#include "probe/record.hpp"
#include "probe/world.hpp"

#include <utility>

namespace weir::conformance {

Stream::Stream(unsigned flags) { OK(cuStreamCreate(&s, flags)); }
Stream::Stream(unsigned flags, int priority) {
  OK(cuStreamCreateWithPriority(&s, flags, priority));
}
Stream::~Stream() {
  if (!s) return;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (cuStreamIsCapturing(s, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE) {
    CUgraph graph = nullptr;
    if (cuStreamEndCapture(s, &graph) == CUDA_SUCCESS && graph) cuGraphDestroy(graph);
  }
  cuStreamDestroy(s);
}
CUresult Stream::destroy() { return cuStreamDestroy(std::exchange(s, nullptr)); }

Event::Event(unsigned flags) { OK(cuEventCreate(&e, flags)); }
Event::~Event() {
  if (e) cuEventDestroy(e);
}
CUresult Event::destroy() { return cuEventDestroy(std::exchange(e, nullptr)); }

Graph::Graph() { OK(cuGraphCreate(&h, 0)); }
Graph::~Graph() {
  if (h) cuGraphDestroy(h);
}
CUresult Graph::destroy() { return cuGraphDestroy(std::exchange(h, nullptr)); }

Exec::Exec(CUgraph graph, unsigned long long flags) { OK(cuGraphInstantiate(&h, graph, flags)); }
Exec::~Exec() {
  if (h) cuGraphExecDestroy(h);
}
CUresult Exec::destroy() { return cuGraphExecDestroy(std::exchange(h, nullptr)); }

DevMem::DevMem(size_t bytes) { OK(cuMemAlloc(&p, bytes)); }
DevMem::~DevMem() {
  if (p) cuMemFree(p);
}

CUcontext make_context(unsigned flags) {
  CUcontext made = nullptr, popped = nullptr;
  OK(cuCtxCreate(&made, nullptr, flags, g.dev));
  OK(cuCtxPopCurrent(&popped));
  return made;
}

OtherCtx::OtherCtx() : c(g.other) {
  if (!c) throw Abort{"no_second_context"};
}
CUresult OtherCtx::destroy() const {
  g.other = nullptr;
  return cuCtxDestroy(c);
}

Current::Current(CUcontext c) { OK(cuCtxPushCurrent(c)); }
Current::~Current() {
  CUcontext popped = nullptr;
  cuCtxPopCurrent(&popped);
}

ThreadMode::ThreadMode(CUstreamCaptureMode m) : old_(m) {
  OK(cuThreadExchangeStreamCaptureMode(&old_));
}
ThreadMode::~ThreadMode() { cuThreadExchangeStreamCaptureMode(&old_); }

}  // namespace weir::conformance
