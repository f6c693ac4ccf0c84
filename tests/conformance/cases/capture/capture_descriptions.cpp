// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_descriptions.cpp - what the nodes of captured copies and memsets report.
#include "probe/probe.hpp"

#include <cstring>
#include <functional>
#include <string>

namespace weir::conformance {
namespace {

// Captures one call, and records the description of the copy node that it made.
void rec_description(Rec& r, const std::string& key,
                     const std::function<CUresult(CUstream)>& call) {
  Stream s(NB);
  begin(s);
  r.k(key, call(s));
  Graph gr(end_ok(s));
  const Nodes nodes = nodes_of(gr);
  CUDA_MEMCPY3D p;
  std::memset(&p, 0, sizeof p);
  if (nodes.size() != 1 || cuGraphMemcpyNodeGetParams(nodes[0], &p) != CUDA_SUCCESS) return;
  const auto position = [](size_t x, size_t y, size_t z) {
    return std::to_string(x) + "," + std::to_string(y) + "," + std::to_string(z);
  };
  r.k(key + ".src", static_cast<int>(p.srcMemoryType));
  r.k(key + ".src_at", position(p.srcXInBytes, p.srcY, p.srcZ));
  r.k(key + ".src_rows", position(p.srcPitch, p.srcHeight, 0));
  r.k(key + ".dst", static_cast<int>(p.dstMemoryType));
  r.k(key + ".dst_at", position(p.dstXInBytes, p.dstY, p.dstZ));
  r.k(key + ".dst_rows", position(p.dstPitch, p.dstHeight, 0));
}

CUDA_MEMCPY3D box_of(size_t depth) {
  CUDA_MEMCPY3D p;
  std::memset(&p, 0, sizeof p);
  p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  p.srcDevice = g.dbuf;
  p.dstDevice = g.dbuf + kMiB;
  p.srcPitch = p.dstPitch = 64;
  p.srcHeight = p.dstHeight = 8;
  p.WidthInBytes = 16;
  p.Height = 4;
  p.Depth = depth;
  return p;
}

// Captures a memset, and records whether a graph with it can be instantiated.
void rec_memset(Rec& r, const std::string& key, CUdeviceptr at, size_t bytes) {
  Stream s(NB);
  begin(s);
  r.k(key, cuMemsetD8Async(at, 1, bytes, s));
  Graph gr(end_ok(s));
  r.k(key + ".nodes", static_cast<int>(nodes_of(gr).size()));
  CUgraphExec x = nullptr;
  r.k(key + ".instantiate", cuGraphInstantiate(&x, gr, 0));
  if (x != nullptr) OK(cuGraphExecDestroy(x));
}

}  // namespace

void capture_descriptions_cases() {
  add("capture.copy_types", [](Rec& r) {
    const auto pinned = reinterpret_cast<CUdeviceptr>(g.pin);
    rec_description(r, "to_pinned_as_device",
                    [&](CUstream s) { return cuMemcpyHtoDAsync(pinned, g.page, 64, s); });
    rec_description(r, "from_pinned_as_device",
                    [&](CUstream s) { return cuMemcpyDtoHAsync(g.page, pinned, 64, s); });
    rec_description(r, "pinned_to_device",
                    [&](CUstream s) { return cuMemcpyDtoDAsync(g.dbuf, pinned, 64, s); });
    rec_description(r, "any", [&](CUstream s) { return cuMemcpyAsync(g.dbuf, pinned, 64, s); });
  });
  add("capture.copy_positions", [](Rec& r) {
    rec_description(r, "rows", [](CUstream s) {
      CUDA_MEMCPY2D p;
      std::memset(&p, 0, sizeof p);
      p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      p.srcDevice = g.dbuf;
      p.dstDevice = g.dbuf + kMiB;
      p.srcPitch = 64;
      p.dstPitch = 128;
      p.dstXInBytes = 4;
      p.dstY = 2;
      p.WidthInBytes = 16;
      p.Height = 4;
      return cuMemcpy2DAsync(&p, s);
    });
    rec_description(r, "box", [](CUstream s) {
      CUDA_MEMCPY3D p = box_of(2);
      p.srcY = p.srcZ = p.dstZ = 1;
      p.dstXInBytes = 3;
      return cuMemcpy3DAsync(&p, s);
    });
    rec_description(r, "rows_beyond", [](CUstream s) {
      CUDA_MEMCPY3D p = box_of(1);
      p.srcY = 5;
      return cuMemcpy3DAsync(&p, s);
    });
  });
  add("capture.memset_unknown", [](Rec& r) {
    rec_memset(r, "pageable", reinterpret_cast<CUdeviceptr>(g.page), 64);
    rec_memset(r, "past_the_end", g.dbuf + kScratch - 4, kScratch);
    rec_memset(r, "null", 0, 64);
    rec_memset(r, "known", g.dbuf, 64);
  });
  add("capture.id_is_the_graphs", [](Rec& r) {
    const auto id_of = [](CUstream s) {
      CUstreamCaptureStatus status{};
      cuuint64_t id = 0;
      OK(cuStreamGetCaptureInfo(s, &status, &id, nullptr, nullptr, nullptr, nullptr));
      return id;
    };
    Stream s(NB);
    begin(s, RELAXED);
    const cuuint64_t first = id_of(s);
    Graph gr(end_ok(s));
    OK(cuStreamBeginCaptureToGraph(s, gr, nullptr, nullptr, 0, RELAXED));
    r.k("again_same", id_of(s) == first);
    end_ok(s);
    Graph between;
    begin(s, RELAXED);
    r.k("next", static_cast<int>(id_of(s) - first));
    Graph last(end_ok(s));
  });
}

}  // namespace weir::conformance
