// SPDX-License-Identifier: Apache-2.0
// cases/context/peer.cpp - peer access, as far as one device shows it: without a context, in
// captures.
#include "probe/probe.hpp"

namespace weir::conformance {

void peer_cases() {
  add("peer.no_context", ISO, [](Rec& r) {
    OK(cuCtxSetCurrent(nullptr));
    r.k("enable", cuCtxEnablePeerAccess(g.ctx, 0));
    r.k("enable_null", cuCtxEnablePeerAccess(nullptr, 0));
    r.k("enable_flags1", cuCtxEnablePeerAccess(g.ctx, 1));
    r.k("disable", cuCtxDisablePeerAccess(g.ctx));
    r.k("disable_null", cuCtxDisablePeerAccess(nullptr));
  });
  add("peer.in_capture", [](Rec& r) {
    Stream s(NB);
    for (const auto mode : {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
      const std::string n = mode == CU_STREAM_CAPTURE_MODE_GLOBAL ? "global." : "relaxed.";
      OK(cuStreamBeginCapture(s, mode));
      int v = 0;
      r.k(n + "can_access", cuDeviceCanAccessPeer(&v, g.dev, g.dev));
      r.k(n + "enable_self", cuCtxEnablePeerAccess(g.ctx, 0));
      r.k(n + "disable_self", cuCtxDisablePeerAccess(g.ctx));
      CUgraph graph = nullptr;
      r.k(n + "end", cuStreamEndCapture(s, &graph));
      if (graph) cuGraphDestroy(graph);
    }
  });
  add("peer.copy", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    Stream s(NB);
    r.k("self", cuMemcpyPeerAsync(g.dbuf, g.ctx, g.dbuf + 4096, g.ctx, 64, s));
    r.k("size0", cuMemcpyPeerAsync(g.dbuf, g.ctx, g.dbuf + 4096, g.ctx, 0, s));
    r.k("wrong_context", cuMemcpyPeerAsync(g.dbuf, o, g.dbuf + 4096, o, 64, s));
    r.k("null_dst_context", cuMemcpyPeerAsync(g.dbuf, nullptr, g.dbuf + 4096, g.ctx, 64, s));
    r.k("null_src_context", cuMemcpyPeerAsync(g.dbuf, g.ctx, g.dbuf + 4096, nullptr, 64, s));
    r.k("null_dst", cuMemcpyPeerAsync(0, g.ctx, g.dbuf, g.ctx, 64, s));
    r.k("pinned_src",
        cuMemcpyPeerAsync(g.dbuf, g.ctx, reinterpret_cast<CUdeviceptr>(g.pin), g.ctx, 64, s));
    r.k("pageable_src",
        cuMemcpyPeerAsync(g.dbuf, g.ctx, reinterpret_cast<CUdeviceptr>(g.page), g.ctx, 64, s));
    r.k("other_stream_context",
        cuMemcpyPeerAsync(g.dbuf, g.ctx, g.dbuf + 4096, g.ctx, 64, PER_THREAD));
    OK(cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
