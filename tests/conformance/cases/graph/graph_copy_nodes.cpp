// SPDX-License-Identifier: Apache-2.0
// cases/graph/graph_copy_nodes.cpp - memcpy nodes.
#include "probe/probe.hpp"

#include <functional>

namespace weir::conformance {

void graph_copy_nodes_cases() {
  add("graph.memcpy_node_params", [](Rec& r) {
    auto with = [](CUDA_MEMCPY3D p, const std::function<void(CUDA_MEMCPY3D&)>& f) {
      f(p);
      return p;
    };
    struct {
      const char* n;
      CUDA_MEMCPY3D p;
    } list[] = {
        {"h2d_pinned", copy_h2d(g.dbuf, g.pin, 64)},
        {"h2d_pageable", copy_h2d(g.dbuf, g.page, 64)},
        {"d2h", copy_d2h(g.pin, g.dbuf, 64)},
        {"d2d", copy_d2d(g.dbuf + 4096, g.dbuf, 64)},
        {"h2h", copy_params(CU_MEMORYTYPE_HOST, g.pin + 64, 0, CU_MEMORYTYPE_HOST, g.pin, 0, 64)},
        {"unified", copy_params(CU_MEMORYTYPE_UNIFIED, nullptr, g.dbuf, CU_MEMORYTYPE_UNIFIED,
                                nullptr, reinterpret_cast<CUdeviceptr>(g.pin), 64)},
        {"width0", copy_h2d(g.dbuf, g.pin, 0)},
        {"height0", with(copy_h2d(g.dbuf, g.pin, 64), [](CUDA_MEMCPY3D& p) { p.Height = 0; })},
        {"depth0", with(copy_h2d(g.dbuf, g.pin, 64), [](CUDA_MEMCPY3D& p) { p.Depth = 0; })},
        {"null_src", copy_h2d(g.dbuf, nullptr, 64)},
        {"null_dst", copy_h2d(0, g.pin, 64)},
        {"type0", copy_params(static_cast<CUmemorytype>(0), nullptr, g.dbuf, CU_MEMORYTYPE_HOST,
                              g.pin, 0, 64)},
        {"type9", copy_params(static_cast<CUmemorytype>(9), nullptr, g.dbuf, CU_MEMORYTYPE_HOST,
                              g.pin, 0, 64)},
        {"2d_ok", with(copy_h2d(g.dbuf, g.pin, 64),
                       [](CUDA_MEMCPY3D& p) {
                         p.Height = 4;
                         p.srcPitch = 64;
                         p.dstPitch = 256;
                       })},
        {"2d_small_pitch", with(copy_h2d(g.dbuf, g.pin, 64),
                                [](CUDA_MEMCPY3D& p) {
                                  p.Height = 4;
                                  p.srcPitch = 32;
                                  p.dstPitch = 256;
                                })},
        {"out_of_bounds", copy_h2d(g.dbuf + kScratch - 16, g.pin, 64)},
        {"reserved", with(copy_h2d(g.dbuf, g.pin, 64), [](CUDA_MEMCPY3D& p) { p.reserved0 = &p; })},
    };
    for (auto& x : list) {
      Graph gr;
      CUgraphNode n = nullptr;
      r.k(x.n, cuGraphAddMemcpyNode(&n, gr, nullptr, 0, &x.p, g.ctx));
    }
    Graph gr;
    CUgraphNode n = nullptr;
    CUDA_MEMCPY3D p = copy_h2d(g.dbuf, g.pin, 64);
    r.k("null_ctx", cuGraphAddMemcpyNode(&n, gr, nullptr, 0, &p, nullptr));
    CUgraphNode m = add_memcpy(gr, {}, p);
    CUDA_MEMCPY3D q{};
    r.k("get", cuGraphMemcpyNodeGetParams(m, &q));
    r.k("width", q.WidthInBytes);
    r.k("src_type", static_cast<int>(q.srcMemoryType));
    r.k("dst_type", static_cast<int>(q.dstMemoryType));
    p.WidthInBytes = 128;
    r.k("set", cuGraphMemcpyNodeSetParams(m, &p));
    CUDA_MEMCPY3D d = copy_d2h(g.pin, g.dbuf, 64);
    r.k("set_other_direction", cuGraphMemcpyNodeSetParams(m, &d));
  });
}

}  // namespace weir::conformance
