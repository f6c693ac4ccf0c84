// SPDX-License-Identifier: Apache-2.0
// cases/memory/copy_shapes.cpp - copies of two and three dimensions, between contexts, in batches.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

// Returns the address of host memory, for copies that take any address.
}  // namespace

void copy_shapes_cases() {
  add("copy.2d", [](Rec& r) {
    auto base = [] {
      CUDA_MEMCPY2D p;
      memset(&p, 0, sizeof p);
      p.srcMemoryType = CU_MEMORYTYPE_HOST;
      p.srcHost = g.pin;
      p.srcPitch = 64;
      p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      p.dstDevice = g.dbuf;
      p.dstPitch = 512;
      p.WidthInBytes = 64;
      p.Height = 4;
      return p;
    };
    CUDA_MEMCPY2D p = base();
    r.k("ok", cuMemcpy2D(&p));
    p = base();
    p.srcPitch = 32;
    r.k("src_pitch_small", cuMemcpy2D(&p));
    p = base();
    p.dstPitch = 32;
    r.k("dst_pitch_small", cuMemcpy2D(&p));
    p = base();
    p.dstPitch = 0;
    r.k("dst_pitch_0", cuMemcpy2D(&p));
    p = base();
    p.dstPitch = 65;
    r.k("odd_pitch", cuMemcpy2D(&p));
    p = base();
    p.WidthInBytes = 0;
    r.k("width0", cuMemcpy2D(&p));
    p = base();
    p.Height = 0;
    r.k("height0", cuMemcpy2D(&p));
    p = base();
    p.srcMemoryType = static_cast<CUmemorytype>(0);
    r.k("type0", cuMemcpy2D(&p));
    p = base();
    p.srcMemoryType = static_cast<CUmemorytype>(9);
    r.k("type9", cuMemcpy2D(&p));
    p = base();
    p.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
    r.k("unified", cuMemcpy2D(&p));
    p = base();
    p.srcHost = nullptr;
    r.k("null_src", cuMemcpy2D(&p));
    p = base();
    p.dstPitch = 3ull << 30;
    r.k("pitch_over_max", cuMemcpy2D(&p));
    p = base();
    r.k("unaligned_entry", cuMemcpy2DUnaligned(&p));
    for (size_t i = 0; i < 256; i++) g.pin[i] = static_cast<unsigned char>(i);
    p = base();
    p.srcXInBytes = 8;
    p.srcY = 1;
    p.dstXInBytes = 16;
    p.dstY = 2;
    p.WidthInBytes = 8;
    p.Height = 1;
    OK(cuMemcpy2D(&p));
    unsigned char b[8] = {0};
    OK(cuMemcpyDtoH(b, g.dbuf + 512 * 2 + 16, 8));
    r.k("offset_value", b[0]);
    Stream s(NB);
    p = base();
    r.k("async", cuMemcpy2DAsync(&p, s));
    OK(cuStreamSynchronize(s));
  });
  add("copy.3d", [](Rec& r) {
    CUDA_MEMCPY3D p = copy_h2d(g.dbuf, g.pin, 16);
    p.Height = 4;
    p.Depth = 3;
    p.srcPitch = 16;
    p.srcHeight = 4;
    p.dstPitch = 64;
    p.dstHeight = 8;
    for (size_t i = 0; i < 192; i++) g.pin[i] = static_cast<unsigned char>(i);
    r.k("ok", cuMemcpy3D(&p));
    unsigned char b = 0;
    OK(cuMemcpyDtoH(&b, g.dbuf + (2 * 8 + 3) * 64 + 5, 1));
    r.k("value", b);
    p.srcHeight = 2;
    r.k("src_height_small", cuMemcpy3D(&p));
    p.srcHeight = 4;
    p.dstHeight = 0;
    r.k("dst_height_0", cuMemcpy3D(&p));
    p.dstHeight = 8;
    p.Depth = 0;
    r.k("depth0", cuMemcpy3D(&p));
    p.Depth = 1;
    Stream s(NB);
    r.k("async", cuMemcpy3DAsync(&p, s));
    OK(cuStreamSynchronize(s));
  });
  add("copy.peer_same_device", [](Rec& r) {
    OK(cuMemsetD32(g.dbuf, 93, 4));
    r.k("same_ctx", cuMemcpyPeer(g.dbuf + 4096, g.ctx, g.dbuf, g.ctx, 16));
    uint32_t v = 0;
    OK(cuMemcpyDtoH(&v, g.dbuf + 4096, 4));
    r.k("value", v);
    Stream s(NB);
    r.k("async", cuMemcpyPeerAsync(g.dbuf + 4096, g.ctx, g.dbuf, g.ctx, 16, s));
    r.k("null_ctx", cuMemcpyPeer(g.dbuf + 4096, nullptr, g.dbuf, nullptr, 16));
    OK(cuStreamSynchronize(s));
  });
  add("copy.peer_other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    CUdeviceptr q = 0;
    {
      Current cur(o);
      OK(cuMemAlloc(&q, 4096));
    }
    OK(cuMemsetD32(g.dbuf, 94, 4));
    OK(cuCtxSynchronize());
    r.k("peer", cuMemcpyPeer(q, o, g.dbuf, g.ctx, 16));
    uint32_t v = 0;
    r.k("read", cuMemcpyDtoH(&v, q, 4));
    r.k("value", v);
    Stream s(NB);
    r.k("async", cuMemcpyPeerAsync(q, o, g.dbuf, g.ctx, 16, s));
    OK(cuStreamSynchronize(s));
    {
      Current cur(o);
      cuMemFree(q);
    }
  });
  add("copy.batch", [](Rec& r) {
    Stream s(NB);
    for (int i = 0; i < 2; i++) g.pin[i * 4096] = static_cast<unsigned char>(101 + i);
    CUdeviceptr d[2] = {g.dbuf, g.dbuf + 4096};
    CUdeviceptr sr[2] = {as_address(g.pin), as_address(g.pin + 4096)};
    size_t sz[2] = {64, 64};
    CUmemcpyAttributes at[2];
    memset(at, 0, sizeof at);
    at[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    at[1].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
    size_t ix[2] = {0, 1};
    r.k("one_attr", cuMemcpyBatchAsync(d, sr, sz, 2, at, ix, 1, s));
    r.k("two_attrs", cuMemcpyBatchAsync(d, sr, sz, 2, at, ix, 2, s));
    OK(cuStreamSynchronize(s));
    unsigned char v = 0;
    OK(cuMemcpyDtoH(&v, g.dbuf + 4096, 1));
    r.k("value", v);
    r.k("null_stream", cuMemcpyBatchAsync(d, sr, sz, 2, at, ix, 1, nullptr));
    r.k("legacy", cuMemcpyBatchAsync(d, sr, sz, 2, at, ix, 1, LEGACY));
    r.k("per_thread", cuMemcpyBatchAsync(d, sr, sz, 2, at, ix, 1, PER_THREAD));
    r.k("count0", cuMemcpyBatchAsync(d, sr, sz, 0, at, ix, 1, s));
    r.k("attrs0", cuMemcpyBatchAsync(d, sr, sz, 2, at, ix, 0, s));
    r.k("attrs_over_count", cuMemcpyBatchAsync(d, sr, sz, 1, at, ix, 2, s));
    size_t bad[2] = {1, 0};
    r.k("first_index_not_0", cuMemcpyBatchAsync(d, sr, sz, 2, at, bad, 1, s));
    size_t same[2] = {0, 0};
    r.k("index_not_rising", cuMemcpyBatchAsync(d, sr, sz, 2, at, same, 2, s));
    at[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    r.k("order_invalid", cuMemcpyBatchAsync(d, sr, sz, 2, at, ix, 1, s));
    at[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    sz[1] = 0;
    r.k("size0", cuMemcpyBatchAsync(d, sr, sz, 2, at, ix, 1, s));
    OK(cuCtxSynchronize());
  });
  add("copy.batch_during_call", [](Rec& r) {
    Stream s(NB);
    auto* w = reinterpret_cast<uint32_t*>(g.page);
    w[0] = 111;
    CUdeviceptr d = g.dbuf, sr = as_address(g.page);
    size_t sz = 64, ix = 0;
    CUmemcpyAttributes at;
    memset(&at, 0, sizeof at);
    at.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    ValueGate v;
    v.arm(s);
    record_blocking(r, "~during_call",
                    blocking([&] { v.open(); },
                             [&] { return cuMemcpyBatchAsync(&d, &sr, &sz, 1, &at, &ix, 1, s); }));
    w[0] = 112;
    v.open();
    OK(cuStreamSynchronize(s));
    uint32_t got = 0;
    OK(cuMemcpyDtoH(&got, g.dbuf, 4));
    r.k("source_read_during_call", got == 111);
  });
}

}  // namespace weir::conformance
