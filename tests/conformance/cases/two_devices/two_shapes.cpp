// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_shapes.cpp - copies of device 1's memory with two or three dimensions, or
// in batches, by its accessibility.
#include "cases/two_devices/two_reach.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

CUDA_MEMCPY2D rectangle(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY2D c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.srcDevice = from;
  c.dstDevice = to;
  c.srcPitch = c.dstPitch = 64;
  c.WidthInBytes = 32;
  c.Height = 2;
  return c;
}

CUDA_MEMCPY3D_PEER peer_box(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                            CUcontext from_context) {
  CUDA_MEMCPY3D_PEER c;
  memset(&c, 0, sizeof c);
  c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.srcDevice = from;
  c.srcContext = from_context;
  c.dstDevice = to;
  c.dstContext = to_context;
  c.srcPitch = c.dstPitch = 64;
  c.srcHeight = c.dstHeight = 1;
  c.WidthInBytes = 64;
  c.Height = c.Depth = 1;
  return c;
}

CUresult unified(CUdeviceptr to, CUdeviceptr from, CUstream s) {
  CUDA_MEMCPY2D c = rectangle(to, from);
  c.srcMemoryType = c.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  return cuMemcpy2DAsync(&c, s);
}

CUresult batch(CUdeviceptr to, CUdeviceptr from, CUmemcpySrcAccessOrder order, CUstream s) {
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = order;
  size_t n = kCopied, first = 0;
  return cuMemcpyBatchAsync(&to, &from, &n, 1, &attributes, &first, 1, s);
}

CUresult box_batch(CUdeviceptr to, CUdeviceptr from, CUstream s) {
  CUDA_MEMCPY3D_BATCH_OP op;
  memset(&op, 0, sizeof op);
  op.src.type = op.dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
  op.src.op.ptr.ptr = from;
  op.dst.op.ptr.ptr = to;
  op.extent = {kCopied, 1, 1};
  op.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  return cuMemcpy3DBatchAsync(1, &op, 0, s);
}

void shapes(Rec& r, Reached::State state) {
  const SecondDevice device1;
  const Stream near(NB);
  const CUstream s = near;
  const Reached reached(state, device1);
  Copied c(r);
  bool reads = true;
  const auto one_way = [&](const std::string& key, auto copy) {
    const Words there{reached.owner, reached.p}, here{g.ctx, g.dbuf};
    const Words &to = reads ? here : there, &from = reads ? there : here;
    c.copy(key + (reads ? ".from" : ".to"), s, to, from, [&] { return copy(to.at, from.at); });
  };
  // Reads of device 1's memory come first, because a failing write may end all contexts.
  for (const bool now : {true, false}) {
    reads = now;
    one_way("rectangle", [&](CUdeviceptr to, CUdeviceptr from) {
      const CUDA_MEMCPY2D p = rectangle(to, from);
      return cuMemcpy2DAsync(&p, s);
    });
    one_way("unified", [&](CUdeviceptr to, CUdeviceptr from) { return unified(to, from, s); });
    one_way("box", [&](CUdeviceptr to, CUdeviceptr from) {
      const CUDA_MEMCPY3D p = copy_d2d(to, from, kCopied);
      return cuMemcpy3DAsync(&p, s);
    });
    one_way("batch", [&](CUdeviceptr to, CUdeviceptr from) {
      return batch(to, from, CU_MEMCPY_SRC_ACCESS_ORDER_STREAM, s);
    });
    one_way("batch_any", [&](CUdeviceptr to, CUdeviceptr from) {
      return batch(to, from, CU_MEMCPY_SRC_ACCESS_ORDER_ANY, s);
    });
    one_way("box_batch", [&](CUdeviceptr to, CUdeviceptr from) { return box_batch(to, from, s); });
    one_way("rectangle_at_once", [&](CUdeviceptr to, CUdeviceptr from) {
      const CUDA_MEMCPY2D p = rectangle(to, from);
      return cuMemcpy2D(&p);
    });
    one_way("peer_box", [&](CUdeviceptr to, CUdeviceptr from) {
      const bool in = to == g.dbuf;
      const auto p = peer_box(to, in ? g.ctx : device1.ctx, from, in ? device1.ctx : g.ctx);
      return cuMemcpy3DPeerAsync(&p, s);
    });
  }
}

}  // namespace

void two_shapes_cases() {
  add_for_each_state("two.shapes", NORMAL, shapes);
  add("two.peer_box_contexts", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    Copied c(r);
    const Words there{device1.ctx, device1.mem}, here{g.ctx, g.dbuf};
    const auto with = [&](const char* key, CUcontext to, CUcontext from) {
      c.copy(key, s, here, there, [&] {
        const auto p = peer_box(g.dbuf, to, device1.mem, from);
        return cuMemcpy3DPeerAsync(&p, s);
      });
    };
    with("right", g.ctx, device1.ctx);
    with("swapped", device1.ctx, g.ctx);
    with("both_near", g.ctx, g.ctx);
    with("both_far", device1.ctx, device1.ctx);
    with("null_to", nullptr, device1.ctx);
    with("null_from", g.ctx, nullptr);
    with("null_both", nullptr, nullptr);
    c.copy("at_once", s, here, there, [&] {
      const auto p = peer_box(g.dbuf, g.ctx, device1.mem, device1.ctx);
      return cuMemcpy3DPeer(&p);
    });
  });
}

}  // namespace weir::conformance
