// SPDX-License-Identifier: Apache-2.0
// cases/graph/exec/exec_set_boxes.cpp - copies of rows and of boxes changed in an executable; and
// copies set while no context was current.
#include "cases/memory/arrays.hpp"

namespace weir::conformance {
namespace {

constexpr size_t kRow = 64, kPitch = 256;

CUDA_MEMCPY3D box_of(size_t rows, size_t slices, const void* from) {
  CUDA_MEMCPY3D p = copy_h2d(g.dbuf, from, kRow);
  p.srcPitch = p.dstPitch = kPitch;
  p.srcHeight = p.dstHeight = rows;
  p.Height = rows;
  p.Depth = slices;
  return p;
}

// Makes one change of the copy at a time in a fresh executable: by its node, and by another graph.
void change_box(Rec& r, size_t rows, size_t slices, CUDA_MEMCPY3D (*told)(CUDA_MEMCPY3D)) {
  const auto change = [&](const char* name, auto by) {
    const CUDA_MEMCPY3D now = box_of(rows, slices, g.pin);
    CUDA_MEMCPY3D then = now;
    by(then);
    Graph gr, next;
    const CUgraphNode node = add_memcpy(gr, {}, told(now));
    add_memcpy(next, {}, told(then));
    Exec x(gr), y(gr);
    const CUDA_MEMCPY3D to = told(then);
    r.k(std::string(name) + ".set", cuGraphExecMemcpyNodeSetParams(x, node, &to, g.ctx));
    CUgraphExecUpdateResultInfo info{};
    r.k(std::string(name) + ".update", cuGraphExecUpdate(y, next, &info));
  };
  change("same", [](CUDA_MEMCPY3D&) {});
  change("source", [](CUDA_MEMCPY3D& p) { p.srcHost = g.pin + 65536; });
  change("destination", [](CUDA_MEMCPY3D& p) { p.dstDevice = g.dbuf + 65536; });
  change("source_pitch", [](CUDA_MEMCPY3D& p) { p.srcPitch = 2 * kPitch; });
  change("source_x", [](CUDA_MEMCPY3D& p) { p.srcXInBytes = 64; });
  change("width", [](CUDA_MEMCPY3D& p) { p.WidthInBytes = kRow / 2; });
  if (rows == 1) return;
  change("height", [](CUDA_MEMCPY3D& p) { p.Height -= 1; });
  change("line", [](CUDA_MEMCPY3D& p) { p.Height = p.Depth = 1; });
}

CUDA_MEMCPY3D as_told(CUDA_MEMCPY3D p) { return p; }

// Like change_box, for one row that comes from an array.
void change_array_row(Rec& r) {
  const Array one(flat(256, 4)), other(flat(256, 4));
  CUDA_MEMCPY3D now = copy_d2d(g.dbuf, 0, kRow);
  now.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  now.srcArray = one;
  Graph gr;
  const CUgraphNode node = add_memcpy(gr, {}, now);
  const auto change = [&](const char* name, auto by) {
    Exec x(gr);
    CUDA_MEMCPY3D then = now;
    by(then);
    r.k(name, cuGraphExecMemcpyNodeSetParams(x, node, &then, g.ctx));
  };
  change("same", [](CUDA_MEMCPY3D&) {});
  change("array", [&](CUDA_MEMCPY3D& p) { p.srcArray = other; });
  change("x", [](CUDA_MEMCPY3D& p) { p.srcXInBytes = 64; });
  change("y", [](CUDA_MEMCPY3D& p) { p.srcY = 1; });
  change("destination", [](CUDA_MEMCPY3D& p) { p.dstDevice = g.dbuf + 65536; });
  change("width", [](CUDA_MEMCPY3D& p) { p.WidthInBytes = kRow / 2; });
  change("memory", [](CUDA_MEMCPY3D& p) { p = copy_d2d(g.dbuf, g.dbuf + 65536, kRow); });
}

// Changes a captured copy's node, then its executable: with a current context or none for the node,
// and with each way to describe memory.
void set_node_first(Rec& r, bool pool) {
  constexpr size_t bytes = 400;
  Stream s(NB);
  CUdeviceptr here = g.dbuf, there = g.dbuf + 65536;
  if (pool) {
    OK(cuMemAllocAsync(&here, bytes, s));
    OK(cuMemAllocAsync(&there, bytes, s));
    OK(cuStreamSynchronize(s));
  }
  for (const bool current : {true, false}) {
    for (const bool by_addresses : {false, true}) {
      OK(cuStreamBeginCapture(s, RELAXED));
      OK(cuMemcpyAsync(here, as_address(g.pin), bytes, s));
      CUgraph captured = nullptr;
      OK(cuStreamEndCapture(s, &captured));
      Graph gr(captured);
      const CUgraphNode node = nodes_of(gr).at(0);
      Exec before(gr);
      const CUDA_MEMCPY3D second = copy_h2d(there, g.pin, bytes),
                          third = copy_h2d(here, g.pin + 4096, bytes);
      const CUDA_MEMCPY3D told = by_addresses ? by_address(second) : second;
      const std::string name = std::string(current ? "current" : "no_context") +
                               (by_addresses ? ".addresses" : ".kinds");
      CUcontext was = nullptr;
      if (!current) OK(cuCtxPopCurrent(&was));
      const CUresult status = cuGraphMemcpyNodeSetParams(node, &told);
      if (!current) OK(cuCtxPushCurrent(was));
      r.k(name, status);
      CUDA_MEMCPY3D now{};
      r.k(name + ".get", cuGraphMemcpyNodeGetParams(node, &now));
      r.k(name + ".now", static_cast<int>(now.srcMemoryType * 10 + now.dstMemoryType));
      CUgraphExecUpdateResultInfo info{};
      r.k(name + ".update", cuGraphExecUpdate(before, gr, &info));
      Exec x(gr);
      r.k(name + ".by_kinds", cuGraphExecMemcpyNodeSetParams(x, node, &third, g.ctx));
      const CUDA_MEMCPY3D addresses = by_address(third);
      r.k(name + ".by_addresses", cuGraphExecMemcpyNodeSetParams(x, node, &addresses, g.ctx));
      const CUDA_MEMCPY3D elsewhere = copy_h2d(g.dbuf + 8192, g.pin, bytes);
      const CUDA_MEMCPY3D elsewhere_too = by_address(elsewhere);
      r.k(name + ".to_device_by_kinds", cuGraphExecMemcpyNodeSetParams(x, node, &elsewhere, g.ctx));
      r.k(name + ".to_device_by_addresses",
          cuGraphExecMemcpyNodeSetParams(x, node, &elsewhere_too, g.ctx));
      r.k(name + ".update_again", cuGraphExecUpdate(x, gr, &info));
      Graph set_again;
      add_memcpy(set_again, {}, told);
      r.k(name + ".update_to_added", cuGraphExecUpdate(x, set_again, &info));
      r.k(name + ".launch", cuGraphLaunch(x, s));
      OK(cuStreamSynchronize(s));
    }
  }
  if (!pool) return;
  OK(cuMemFreeAsync(here, s));
  OK(cuMemFreeAsync(there, s));
  OK(cuStreamSynchronize(s));
}

}  // namespace

void exec_set_boxes_cases() {
  add("exec.set_line", [](Rec& r) { change_box(r, 1, 1, as_told); });
  add("exec.set_line_by_address", [](Rec& r) { change_box(r, 1, 1, by_address); });
  add("exec.set_array_row", change_array_row);
  add("exec.set_rows", [](Rec& r) { change_box(r, 4, 1, as_told); });
  add("exec.set_rows_by_address", [](Rec& r) { change_box(r, 4, 1, by_address); });
  add("exec.set_box", [](Rec& r) { change_box(r, 4, 2, as_told); });
  add("exec.set_box_by_address", [](Rec& r) { change_box(r, 4, 2, by_address); });
  add("exec.set_node_first", [](Rec& r) { set_node_first(r, false); });
  add("exec.set_node_first_pool", [](Rec& r) { set_node_first(r, true); });
}

}  // namespace weir::conformance
