// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_broken_calls.cpp - calls on a stream whose capture is invalid.
#include "probe/probe.hpp"

#include <cstring>
#include <string>

namespace weir::conformance {
namespace {

// A stream whose capture a query has invalidated.
struct Broken {
  Stream s{NB};
  Broken() {
    begin(s, RELAXED);
    cuStreamQuery(s);
  }
  ~Broken() {
    CUgraph none = nullptr;
    cuStreamEndCapture(s, &none);
  }
  operator CUstream() const { return s; }
};

CUDA_MEMCPY3D box(size_t width, size_t height, size_t depth) {
  CUDA_MEMCPY3D p;
  std::memset(&p, 0, sizeof p);
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = g.dbuf;
  p.dstDevice = g.dbuf + kMiB;
  p.srcPitch = p.dstPitch = 64;
  p.srcHeight = p.dstHeight = 8;
  p.WidthInBytes = width;
  p.Height = height;
  p.Depth = depth;
  return p;
}

CUDA_MEMCPY2D rows(size_t width, size_t height) {
  CUDA_MEMCPY2D p;
  std::memset(&p, 0, sizeof p);
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = g.dbuf;
  p.dstDevice = g.dbuf + kMiB;
  p.srcPitch = p.dstPitch = 64;
  p.WidthInBytes = width;
  p.Height = height;
  return p;
}

}  // namespace

void capture_broken_calls_cases() {
  add("capture.broken_queries", [](Rec& r) {
    Broken s;
    CUcontext context = nullptr;
    CUgreenCtx green = nullptr;
    int priority = 0;
    CUstreamAttrValue value;
    std::memset(&value, 0, sizeof value);
    r.k("context", cuStreamGetCtx(s, &context));
    r.k("contexts", cuStreamGetCtx_v2(s, &context, &green));
    r.k("green", cuStreamGetGreenCtx(s, &green));
    r.k("priority", cuStreamGetPriority(s, &priority));
    r.k("priority_null", cuStreamGetPriority(s, nullptr));
    for (const int id : {1, 3, 8, 99}) {
      const auto attribute = static_cast<CUstreamAttrID>(id);
      r.k("get" + std::to_string(id), cuStreamGetAttribute(s, attribute, &value));
      r.k("set" + std::to_string(id), cuStreamSetAttribute(s, attribute, &value));
    }
    Stream t(NB);
    r.k("copy_to", cuStreamCopyAttributes(s, t));
    r.k("copy_from", cuStreamCopyAttributes(t, s));
    r.k("copy_self", cuStreamCopyAttributes(s, s));
    r.k("status", capture_status(s));
  });
  add("capture.broken_empty_work", [](Rec& r) {
    Broken s;
    CUdeviceptr p = 7;
    const CUDA_MEMCPY2D none_wide = rows(0, 4), none_high = rows(16, 0);
    const CUDA_MEMCPY3D none_deep = box(16, 4, 0);
    r.k("alloc", cuMemAllocAsync(&p, 0, s));
    r.k("alloc.is", p);
    r.k("alloc_null", cuMemAllocAsync(nullptr, 256, s));
    r.k("alloc_null_pool", cuMemAllocFromPoolAsync(&p, 256, nullptr, s));
    r.k("free_0", cuMemFreeAsync(0, s));
    r.k("copy2d_width", cuMemcpy2DAsync(&none_wide, s));
    r.k("copy2d_height", cuMemcpy2DAsync(&none_high, s));
    r.k("copy3d_depth", cuMemcpy3DAsync(&none_deep, s));
    r.k("copy", cuMemcpyDtoDAsync(g.dbuf, g.dbuf + kMiB, 0, s));
    r.k("set", cuMemsetD8Async(g.dbuf, 0, 0, s));
    r.k("status", capture_status(s));
  });
  add("capture.broken_batches", [](Rec& r) {
    Broken s;
    CUdeviceptr dst = g.dbuf, src = g.dbuf + kMiB;
    size_t size = 64, index = 0;
    CUmemcpyAttributes attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    r.k("copy", cuMemcpyBatchAsync(&dst, &src, &size, 1, &attributes, &index, 1, s));
    r.k("none", cuMemcpyBatchAsync(&dst, &src, &size, 0, &attributes, &index, 1, s));
    r.k("null", cuMemcpyBatchAsync(nullptr, nullptr, nullptr, 1, nullptr, nullptr, 0, s));
    r.k("boxes_none", cuMemcpy3DBatchAsync(0, nullptr, 0, s));
    r.k("boxes_null", cuMemcpy3DBatchAsync(1, nullptr, 0, s));
    r.k("signal", cuSignalExternalSemaphoresAsync(nullptr, nullptr, 0, s));
    r.k("status", capture_status(s));
  });
}

}  // namespace weir::conformance
