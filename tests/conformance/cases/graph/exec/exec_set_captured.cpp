// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_set_captured.cpp - setting the parameters of captured copies: unchanged,
// and with each way to describe memory.
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

constexpr size_t kCapturedBytes = 64;

// A copy of kCapturedBytes, and another one in that direction with other addresses.
struct CapturedCopy {
  const char* name;
  CUresult (*call)(CUstream);
  CUDA_MEMCPY3D (*other)();
};

CUDA_MEMCPY3D other_h2d() { return copy_h2d(g.dbuf + 8192, g.pin + 8192, kCapturedBytes); }
CUDA_MEMCPY3D other_d2d() { return copy_d2d(g.dbuf + 12288, g.dbuf + 8192, kCapturedBytes); }
CUDA_MEMCPY3D other_d2h() { return copy_d2h(g.pin + 8192, g.dbuf + 8192, kCapturedBytes); }

CUDA_MEMCPY3D with_pitches(CUDA_MEMCPY3D p) {
  p.srcPitch = p.dstPitch = kCapturedBytes;
  p.srcHeight = p.dstHeight = 1;
  return p;
}

void set_what_was_captured(Rec& r, const CapturedCopy& copy) {
  Stream s(NB);
  OK(cuStreamBeginCapture(s, RELAXED));
  OK(copy.call(s));
  CUgraph captured = nullptr;
  OK(cuStreamEndCapture(s, &captured));
  Graph gr(captured);
  CUgraphNode node = nullptr;
  size_t count = 1;
  OK(cuGraphGetNodes(gr, &node, &count));
  CUDA_MEMCPY3D p{};
  OK(cuGraphMemcpyNodeGetParams(node, &p));
  r.k("from", static_cast<int>(p.srcMemoryType));
  r.k("to", static_cast<int>(p.dstMemoryType));
  Exec x(gr);
  r.k("same", cuGraphExecMemcpyNodeSetParams(x, node, &p, g.ctx));
  CUDA_MEMCPY3D now = copy.other();
  r.k("other", cuGraphExecMemcpyNodeSetParams(x, node, &now, g.ctx));
  now = with_pitches(now);
  r.k("other_with_pitches", cuGraphExecMemcpyNodeSetParams(x, node, &now, g.ctx));
  now = by_address(copy.other());
  r.k("by_address", cuGraphExecMemcpyNodeSetParams(x, node, &now, g.ctx));
  now = copy.other();
  r.k("of_the_node", cuGraphMemcpyNodeSetParams(node, &now));
  Exec after(gr);
  r.k("of_the_next", cuGraphExecMemcpyNodeSetParams(after, node, &now, g.ctx));
  now = by_address(now);
  r.k("of_the_node_by_address", cuGraphMemcpyNodeSetParams(node, &now));
  r.k("launch", cuGraphLaunch(x, s));
  OK(cuStreamSynchronize(s));
}

// Uses blocks of a pool, like a pipeline: one in the capture, the other one set later.
void set_pool_memory(Rec& r) {
  constexpr size_t block = 1 << 20;
  Stream s(NB);
  CUdeviceptr here = 0, there = 0;
  OK(cuMemAllocAsync(&here, 2 * block, s));
  OK(cuMemAllocAsync(&there, 2 * block, s));
  OK(cuStreamSynchronize(s));
  OK(cuStreamBeginCapture(s, RELAXED));
  OK(cuMemcpyAsync(here, as_address(g.pin), block, s));
  OK(cuMemcpyAsync(here + block, here, block, s));
  OK(cuMemcpyAsync(as_address(g.pin + block), here + block, block, s));
  CUgraph captured = nullptr;
  OK(cuStreamEndCapture(s, &captured));
  Graph gr(captured);
  const Nodes nodes = nodes_of(gr);
  Exec x(gr);
  const CUDA_MEMCPY3D others[] = {copy_h2d(there, g.pin + 2 * block, block),
                                  copy_d2d(there + block, there, block),
                                  copy_d2h(g.pin + 3 * block, there + block, block)};
  const char* const names[] = {"in", "across", "out"};
  for (int i = 0; i < 3; ++i) {
    CUDA_MEMCPY3D now = others[i];
    r.k(std::string(names[i]), cuGraphExecMemcpyNodeSetParams(x, nodes[i], &now, g.ctx));
    now = by_address(now);
    r.k(std::string(names[i]) + "_by_address",
        cuGraphExecMemcpyNodeSetParams(x, nodes[i], &now, g.ctx));
  }
  r.k("launch", cuGraphLaunch(x, s));
  OK(cuStreamSynchronize(s));
  OK(cuMemFreeAsync(here, s));
  OK(cuMemFreeAsync(there, s));
  OK(cuStreamSynchronize(s));
}

// The ways to describe one copy, and whether an executable with one accepts another.
void ways_to_say_it(Rec& r) {
  const CUDA_MEMCPY3D in = copy_h2d(g.dbuf, g.pin, kCapturedBytes),
                      out = copy_d2h(g.pin, g.dbuf, kCapturedBytes),
                      across = copy_d2d(g.dbuf + 4096, g.dbuf, kCapturedBytes);
  CUDA_MEMCPY3D half = by_address(in);
  half.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  const struct {
    const char* name;
    CUDA_MEMCPY3D now, then;
  } pairs[] = {{"kinds_to_addresses", in, by_address(in)},
               {"addresses_to_kinds", by_address(in), in},
               {"addresses_turned", by_address(in), by_address(out)},
               {"addresses_across", by_address(in), by_address(across)},
               {"addresses_from_across", by_address(across), by_address(out)},
               {"half", half, in},
               {"to_half", in, half},
               {"half_to_addresses", half, by_address(in)}};
  for (const auto& pair : pairs) {
    Graph gr, next;
    const CUgraphNode node = add_memcpy(gr, {}, pair.now);
    add_memcpy(next, {}, pair.then);
    Exec x(gr);
    r.k(std::string(pair.name) + ".set",
        cuGraphExecMemcpyNodeSetParams(x, node, &pair.then, g.ctx));
    Exec y(gr);
    CUgraphExecUpdateResultInfo info{};
    r.k(std::string(pair.name) + ".update", cuGraphExecUpdate(y, next, &info));
    CUDA_MEMCPY3D told{};
    OK(cuGraphMemcpyNodeGetParams(node, &told));
    r.k(std::string(pair.name) + ".kinds",
        static_cast<int>(told.srcMemoryType * 10 + told.dstMemoryType));
  }
}

// Records the nodes that other calls with addresses of any kind become.
void kinds_of_captured(Rec& r) {
  const auto of = [&](const char* name, auto call) {
    Stream s(NB);
    OK(cuStreamBeginCapture(s, RELAXED));
    const CUresult status = call(s);
    CUgraph captured = nullptr;
    r.k(name, status);
    if (cuStreamEndCapture(s, &captured) != CUDA_SUCCESS || status != CUDA_SUCCESS) return;
    Graph gr(captured);
    CUgraphNode node = nullptr;
    size_t count = 1;
    OK(cuGraphGetNodes(gr, &node, &count));
    CUDA_MEMCPY3D told{};
    OK(cuGraphMemcpyNodeGetParams(node, &told));
    r.k(std::string(name) + ".kinds",
        static_cast<int>(told.srcMemoryType * 10 + told.dstMemoryType));
  };
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  rows.srcDevice = as_address(g.pin);
  rows.dstDevice = g.dbuf;
  rows.srcPitch = rows.dstPitch = 256;
  rows.WidthInBytes = kCapturedBytes;
  rows.Height = 4;
  of("rows_by_address", [&](CUstream s) { return cuMemcpy2DAsync(&rows, s); });
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  of("rows_half", [&](CUstream s) { return cuMemcpy2DAsync(&rows, s); });
  CUDA_MEMCPY3D box = by_address(copy_h2d(g.dbuf, g.pin, kCapturedBytes));
  of("box_by_address", [&](CUstream s) { return cuMemcpy3DAsync(&box, s); });
  of("host_to_host", [&](CUstream s) {
    return cuMemcpyAsync(as_address(g.pin), as_address(g.pin + 4096), kCapturedBytes, s);
  });
  of("host_to_pageable", [&](CUstream s) {
    return cuMemcpyAsync(as_address(g.page), as_address(g.pin), kCapturedBytes, s);
  });
}

}  // namespace

void exec_set_captured_cases() {
  add("exec.copy_kinds", ways_to_say_it);
  add("exec.copy_kinds_captured", kinds_of_captured);
  add("exec.set_captured.pool_memory", set_pool_memory);
  static constexpr CapturedCopy copies[] = {
      {"htod", [](CUstream s) { return cuMemcpyHtoDAsync(g.dbuf, g.pin, kCapturedBytes, s); },
       other_h2d},
      {"dtod",
       [](CUstream s) { return cuMemcpyDtoDAsync(g.dbuf + 4096, g.dbuf, kCapturedBytes, s); },
       other_d2d},
      {"dtoh", [](CUstream s) { return cuMemcpyDtoHAsync(g.pin, g.dbuf, kCapturedBytes, s); },
       other_d2h},
      {"htod_by_address",
       [](CUstream s) { return cuMemcpyAsync(g.dbuf, as_address(g.pin), kCapturedBytes, s); },
       other_h2d},
      {"dtod_by_address",
       [](CUstream s) { return cuMemcpyAsync(g.dbuf + 4096, g.dbuf, kCapturedBytes, s); },
       other_d2d},
      {"dtoh_by_address",
       [](CUstream s) { return cuMemcpyAsync(as_address(g.pin), g.dbuf, kCapturedBytes, s); },
       other_d2h},
      {"htod_pageable",
       [](CUstream s) { return cuMemcpyHtoDAsync(g.dbuf, g.page, kCapturedBytes, s); }, other_h2d},
      {"dtoh_pageable",
       [](CUstream s) { return cuMemcpyDtoHAsync(g.page, g.dbuf, kCapturedBytes, s); }, other_d2h},
  };
  for (const CapturedCopy& copy : copies) {
    add(std::string("exec.set_captured.") + copy.name,
        [copy](Rec& r) { set_what_was_captured(r, copy); });
  }
}

}  // namespace weir::conformance
