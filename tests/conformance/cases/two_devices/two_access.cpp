// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_access.cpp - peer access between the contexts of two devices: queried,
// enabled, disabled. In these files, near is device 0 and far is device 1.
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
  add("two.can_access", SECOND_DEVICE, [](Rec& r) {
    rec_can(r, "near_far", g.dev, SecondDevice::dev);
    rec_can(r, "far_near", SecondDevice::dev, g.dev);
    rec_can(r, "far_far", SecondDevice::dev, SecondDevice::dev);
    int v = 0;
    r.k("beyond", cuDeviceCanAccessPeer(&v, SecondDevice::dev, 99));
    r.k("null_out", cuDeviceCanAccessPeer(nullptr, g.dev, SecondDevice::dev));
  });
  add("two.p2p_attributes", SECOND_DEVICE, [](Rec& r) {
    for (const unsigned a : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 99u}) {
      const auto id = static_cast<CUdevice_P2PAttribute>(a);
      const std::string n = std::to_string(a);
      int v = 99;
      if (r.k(n + ".near_far", cuDeviceGetP2PAttribute(&v, id, g.dev, SecondDevice::dev)) ==
          CUDA_SUCCESS)
        r.k(n + ".near_far.is", v);
      if (r.k(n + ".far_near", cuDeviceGetP2PAttribute(&v, id, SecondDevice::dev, g.dev)) ==
          CUDA_SUCCESS)
        r.k(n + ".far_near.is", v);
      r.k(n + ".self", cuDeviceGetP2PAttribute(&v, id, SecondDevice::dev, SecondDevice::dev));
    }
    r.k("null_out", cuDeviceGetP2PAttribute(nullptr, static_cast<CUdevice_P2PAttribute>(1), g.dev,
                                            SecondDevice::dev));
    int v = 0;
    r.k("beyond", cuDeviceGetP2PAttribute(&v, static_cast<CUdevice_P2PAttribute>(1), g.dev, 99));
  });
  add("two.peer_access", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    r.k("disable_before", cuCtxDisablePeerAccess(device1.ctx));
    r.k("flags1", cuCtxEnablePeerAccess(device1.ctx, 1));
    r.k("enable", cuCtxEnablePeerAccess(device1.ctx, 0));
    r.k("again", cuCtxEnablePeerAccess(device1.ctx, 0));
    r.k("again_flags1", cuCtxEnablePeerAccess(device1.ctx, 1));
    r.k("disable", cuCtxDisablePeerAccess(device1.ctx));
    r.k("disable_again", cuCtxDisablePeerAccess(device1.ctx));
    r.k("enable_after", cuCtxEnablePeerAccess(device1.ctx, 0));
  });
  add("two.peer_access_one_way", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    r.k("enable", cuCtxEnablePeerAccess(device1.ctx, 0));
    {
      const Current current(device1.ctx);
      r.k("disable_other_way", cuCtxDisablePeerAccess(g.ctx));
      r.k("enable_self", cuCtxEnablePeerAccess(device1.ctx, 0));
      r.k("enable_other_way", cuCtxEnablePeerAccess(g.ctx, 0));
    }
    r.k("disable", cuCtxDisablePeerAccess(device1.ctx));
    const Current current(device1.ctx);
    r.k("other_way_stays", cuCtxDisablePeerAccess(g.ctx));
  });
  add("two.peer_access_of_second_context", SECOND_DEVICE | SECOND_CONTEXT, [](Rec& r) {
    const SecondDevice device1;
    const OtherCtx o;
    r.k("near", cuCtxEnablePeerAccess(device1.ctx, 0));
    {
      const Current current(o);
      r.k("other_disable", cuCtxDisablePeerAccess(device1.ctx));
      r.k("other", cuCtxEnablePeerAccess(device1.ctx, 0));
      r.k("other_again", cuCtxEnablePeerAccess(device1.ctx, 0));
    }
    r.k("near_disable", cuCtxDisablePeerAccess(device1.ctx));
    {
      const Current current(o);
      r.k("other_disable_then", cuCtxDisablePeerAccess(device1.ctx));
    }
    const Current current(device1.ctx);
    r.k("far_to_other", cuCtxEnablePeerAccess(o, 0));
    r.k("far_to_near", cuCtxEnablePeerAccess(g.ctx, 0));
    r.k("far_to_other_disable", cuCtxDisablePeerAccess(o));
  });
  add("two.peer_access_in_capture", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    Stream s(NB);
    for (const auto mode : {GLOBAL, RELAXED}) {
      const std::string n = mode == GLOBAL ? "global." : "relaxed.";
      begin(s, mode);
      r.k(n + "enable", cuCtxEnablePeerAccess(device1.ctx, 0));
      r.k(n + "disable", cuCtxDisablePeerAccess(device1.ctx));
      int v = 0;
      r.k(n + "can", cuDeviceCanAccessPeer(&v, g.dev, SecondDevice::dev));
      rec_end(r, n + "end", s);
    }
  });
  add("two.peer_access_while_busy", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    Stream s(NB);
    {
      ValueGate v;
      hold(v, s);
      record_blocking(
          r, "enable",
          blocking([&] { v.open(); }, [&] { return cuCtxEnablePeerAccess(device1.ctx, 0); }));
    }
    OK(cuStreamSynchronize(s));
    ValueGate v;
    hold(v, s);
    record_blocking(
        r, "disable",
        blocking([&] { v.open(); }, [&] { return cuCtxDisablePeerAccess(device1.ctx); }));
    v.open();
    OK(cuStreamSynchronize(s));
  });
}

}  // namespace weir::conformance
