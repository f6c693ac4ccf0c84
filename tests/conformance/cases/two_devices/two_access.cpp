// cases/two_access.cpp - access between the contexts of two devices: asking, giving, taking back.
#include "probe/probe.hpp"

#include <string>

namespace weir::conformance {
namespace {

void rec_can(Rec& r, const std::string& key, CUdevice from, CUdevice to) {
  int v = 9;
  r.k(key, cuDeviceCanAccessPeer(&v, from, to));
  r.k(key + ".is", v);
}

}  // namespace

void two_access_cases() {
  add("two.can_access", FAR, [](Rec& r) {
    rec_can(r, "near_far", g.dev, Far::dev);
    rec_can(r, "far_near", Far::dev, g.dev);
    rec_can(r, "far_far", Far::dev, Far::dev);
    int v = 0;
    r.k("beyond", cuDeviceCanAccessPeer(&v, Far::dev, 99));
    r.k("null_out", cuDeviceCanAccessPeer(nullptr, g.dev, Far::dev));
  });
  add("two.p2p_attributes", FAR, [](Rec& r) {
    for (const unsigned a : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 99u}) {
      const auto id = static_cast<CUdevice_P2PAttribute>(a);
      const std::string n = std::to_string(a);
      int v = 99;
      if (r.k(n + ".near_far", cuDeviceGetP2PAttribute(&v, id, g.dev, Far::dev)) == CUDA_SUCCESS)
        r.k(n + ".near_far.is", v);
      if (r.k(n + ".far_near", cuDeviceGetP2PAttribute(&v, id, Far::dev, g.dev)) == CUDA_SUCCESS)
        r.k(n + ".far_near.is", v);
      r.k(n + ".self", cuDeviceGetP2PAttribute(&v, id, Far::dev, Far::dev));
    }
    r.k("null_out", cuDeviceGetP2PAttribute(nullptr, static_cast<CUdevice_P2PAttribute>(1), g.dev, Far::dev));
    int v = 0;
    r.k("beyond", cuDeviceGetP2PAttribute(&v, static_cast<CUdevice_P2PAttribute>(1), g.dev, 99));
  });
  add("two.peer_access", FAR, [](Rec& r) {
    const Far far;
    r.k("disable_before", cuCtxDisablePeerAccess(far.ctx));
    r.k("flags1", cuCtxEnablePeerAccess(far.ctx, 1));
    r.k("enable", cuCtxEnablePeerAccess(far.ctx, 0));
    r.k("again", cuCtxEnablePeerAccess(far.ctx, 0));
    r.k("again_flags1", cuCtxEnablePeerAccess(far.ctx, 1));
    r.k("disable", cuCtxDisablePeerAccess(far.ctx));
    r.k("disable_again", cuCtxDisablePeerAccess(far.ctx));
    r.k("enable_after", cuCtxEnablePeerAccess(far.ctx, 0));
  });
  add("two.peer_access_one_way", FAR, [](Rec& r) {
    const Far far;
    r.k("enable", cuCtxEnablePeerAccess(far.ctx, 0));
    {
      const Current current(far.ctx);
      r.k("disable_other_way", cuCtxDisablePeerAccess(g.ctx));
      r.k("enable_self", cuCtxEnablePeerAccess(far.ctx, 0));
      r.k("enable_other_way", cuCtxEnablePeerAccess(g.ctx, 0));
    }
    r.k("disable", cuCtxDisablePeerAccess(far.ctx));
    const Current current(far.ctx);
    r.k("other_way_stays", cuCtxDisablePeerAccess(g.ctx));
  });
  add("two.peer_access_of_second_context", FAR | TWO, [](Rec& r) {
    const Far far;
    const OtherCtx o;
    r.k("near", cuCtxEnablePeerAccess(far.ctx, 0));
    {
      const Current current(o);
      r.k("other_disable", cuCtxDisablePeerAccess(far.ctx));
      r.k("other", cuCtxEnablePeerAccess(far.ctx, 0));
      r.k("other_again", cuCtxEnablePeerAccess(far.ctx, 0));
    }
    r.k("near_disable", cuCtxDisablePeerAccess(far.ctx));
    {
      const Current current(o);
      r.k("other_disable_then", cuCtxDisablePeerAccess(far.ctx));
    }
    const Current current(far.ctx);
    r.k("far_to_other", cuCtxEnablePeerAccess(o, 0));
    r.k("far_to_near", cuCtxEnablePeerAccess(g.ctx, 0));
    r.k("far_to_other_disable", cuCtxDisablePeerAccess(o));
  });
  add("two.peer_access_in_capture", FAR, [](Rec& r) {
    const Far far;
    Stream s(NB);
    for (const auto mode : {GLOBAL, RELAXED}) {
      const std::string n = mode == GLOBAL ? "global." : "relaxed.";
      begin(s, mode);
      r.k(n + "enable", cuCtxEnablePeerAccess(far.ctx, 0));
      r.k(n + "disable", cuCtxDisablePeerAccess(far.ctx));
      int v = 0;
      r.k(n + "can", cuDeviceCanAccessPeer(&v, g.dev, Far::dev));
      rec_end(r, n + "end", s);
    }
  });
  add("two.peer_access_while_busy", FAR, [](Rec& r) {
    const Far far;
    Stream s(NB);
    {
      VGate v;
      hold(v, s);
      rec_blk(r, "enable", blocking([&] { v.open(); }, [&] { return cuCtxEnablePeerAccess(far.ctx, 0); }));
    }
    OK(cuStreamSynchronize(s));
    VGate v;
    hold(v, s);
    rec_blk(r, "disable", blocking([&] { v.open(); }, [&] { return cuCtxDisablePeerAccess(far.ctx); }));
    v.open();
    OK(cuStreamSynchronize(s));
  });
}

}  // namespace weir::conformance
