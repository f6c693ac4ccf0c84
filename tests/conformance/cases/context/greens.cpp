// SPDX-License-Identifier: Apache-2.0
// cases/context/greens.cpp - device resources and green contexts owned by a case.
#include "cases/context/greens.hpp"

#include <utility>

namespace weir::conformance {

CUdevResource all_sms() {
  CUdevResource all{};
  OK(cuDeviceGetDevResource(g.dev, &all, CU_DEV_RESOURCE_TYPE_SM));
  return all;
}

CUdevResource sms(unsigned least) {
  const CUdevResource all = all_sms();
  CUdevResource part{};
  unsigned groups = 1;
  OK(cuDevSmResourceSplitByCount(&part, &groups, &all, nullptr, 0, least));
  return part;
}

CUdevResourceDesc desc_of(CUdevResource part) {
  CUdevResourceDesc desc = nullptr;
  OK(cuDevResourceGenerateDesc(&desc, &part, 1));
  return desc;
}

std::string text_of(const CUdevResource& part) {
  if (part.type != CU_DEV_RESOURCE_TYPE_SM)
    return "type_" + std::to_string(static_cast<int>(part.type));
  return "SM:" + std::to_string(part.sm.smCount) + "/" +
         std::to_string(part.sm.minSmPartitionSize) + "/" +
         std::to_string(part.sm.smCoscheduledAlignment);
}

std::string which(CUcontext c, CUcontext green) {
  return c == nullptr ? "null" : c == g.ctx ? "primary" : c == green ? "green" : "other";
}

std::string which(CUgreenCtx c, CUgreenCtx green) {
  return c == nullptr ? "null" : c == green ? "green" : "other";
}

Green::Green(unsigned least) {
  OK(cuGreenCtxCreate(&h, desc_of(sms(least)), g.dev, kDefaultStream));
}
Green::~Green() {
  if (h) cuGreenCtxDestroy(h);
}
CUcontext Green::context() const {
  CUcontext c = nullptr;
  OK(cuCtxFromGreenCtx(&c, h));
  return c;
}
CUresult Green::destroy() { return cuGreenCtxDestroy(std::exchange(h, nullptr)); }

GreenStream::GreenStream(CUgreenCtx in, int priority) {
  OK(cuGreenCtxStreamCreate(&s, in, NB, priority));
}
GreenStream::~GreenStream() {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (cuStreamIsCapturing(s, &status) == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE) {
    CUgraph graph = nullptr;
    if (cuStreamEndCapture(s, &graph) == CUDA_SUCCESS && graph) cuGraphDestroy(graph);
  }
  cuStreamDestroy(s);
}

CUcontext current_context() {
  CUcontext c = nullptr;
  OK(cuCtxGetCurrent(&c));
  return c;
}

}  // namespace weir::conformance
