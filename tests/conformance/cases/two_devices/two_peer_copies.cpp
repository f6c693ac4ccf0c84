// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_peer_copies.cpp - copies that name a context for each side: right, wrong,
// none.
#include "cases/two_devices/two_reach.hpp"

namespace weir::conformance {
namespace {

void contexts(Rec& r, bool far_stream) {
  const SecondDevice device1;
  const Stream near(NB);
  const CUstream s = far_stream ? device1.s : near.s;
  const Words there{device1.ctx, device1.mem}, here{g.ctx, g.dbuf};
  Copied c(r);
  const auto with = [&](const char* key, CUcontext to, CUcontext from) {
    c.copy(key, s, here, there,
           [&] { return cuMemcpyPeerAsync(g.dbuf, to, device1.mem, from, kCopied, s); });
  };
  with("right", g.ctx, device1.ctx);
  with("swapped", device1.ctx, g.ctx);
  with("both_near", g.ctx, g.ctx);
  with("both_far", device1.ctx, device1.ctx);
  with("null_to", nullptr, device1.ctx);
  with("null_from", g.ctx, nullptr);
  with("null_both", nullptr, nullptr);
}

}  // namespace

void two_peer_copies_cases() {
  add("two.peer_copy_contexts", SECOND_DEVICE, [](Rec& r) { contexts(r, false); });
  add("two.peer_copy_contexts_far_stream", SECOND_DEVICE, [](Rec& r) { contexts(r, true); });
  add("two.peer_copy_contexts_at_once", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Words there{device1.ctx, device1.mem}, here{g.ctx, g.dbuf};
    Copied c(r);
    const auto with = [&](const char* key, CUcontext to, CUcontext from) {
      c.copy(key, nullptr, here, there,
             [&] { return cuMemcpyPeer(g.dbuf, to, device1.mem, from, kCopied); });
    };
    with("right", g.ctx, device1.ctx);
    with("swapped", device1.ctx, g.ctx);
    with("null_to", nullptr, device1.ctx);
    with("null_from", g.ctx, nullptr);
  });
  add("two.peer_copy_of_host_memory", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const Words there{device1.ctx, device1.mem};
    const Words pinned{nullptr, as_address(g.pin)}, pageable{nullptr, as_address(g.page)};
    Copied c(r);
    c.copy("pinned", s, there, pinned, [&] {
      return cuMemcpyPeerAsync(device1.mem, device1.ctx, as_address(g.pin), g.ctx, kCopied, s);
    });
    c.copy("pinned_far", s, there, pinned, [&] {
      return cuMemcpyPeerAsync(device1.mem, device1.ctx, as_address(g.pin), device1.ctx, kCopied,
                               s);
    });
    c.copy("pageable", s, there, pageable, [&] {
      return cuMemcpyPeerAsync(device1.mem, device1.ctx, as_address(g.page), g.ctx, kCopied, s);
    });
    c.copy("to_pinned", s, pinned, there, [&] {
      return cuMemcpyPeerAsync(as_address(g.pin), g.ctx, device1.mem, device1.ctx, kCopied, s);
    });
  });
  add("two.peer_copy_odd", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    Tried t(r);
    t.call("size0", s,
           [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, device1.mem, device1.ctx, 0, s); });
    t.call("null_from", s, [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, 0, device1.ctx, 64, s); });
    t.call("null_to", s,
           [&] { return cuMemcpyPeerAsync(0, g.ctx, device1.mem, device1.ctx, 64, s); });
    t.call("legacy", LEGACY,
           [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, device1.mem, device1.ctx, 64, LEGACY); });
    t.call("per_thread", PER_THREAD, [&] {
      return cuMemcpyPeerAsync(g.dbuf, g.ctx, device1.mem, device1.ctx, 64, PER_THREAD);
    });
    const Current current(device1.ctx);
    t.call("far_current", s,
           [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, device1.mem, device1.ctx, 64, s); });
  });
  add("two.peer_copy_without_context", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    on_thread(
        [&] {
          r.k("async", cuMemcpyPeerAsync(g.dbuf, g.ctx, device1.mem, device1.ctx, 64, s));
          r.k("async_legacy",
              cuMemcpyPeerAsync(g.dbuf, g.ctx, device1.mem, device1.ctx, 64, nullptr));
          r.k("at_once", cuMemcpyPeer(g.dbuf, g.ctx, device1.mem, device1.ctx, 64));
          r.k("address", cuMemcpyAsync(g.dbuf, device1.mem, 64, s));
          r.k("address_far_stream", cuMemcpyAsync(g.dbuf, device1.mem, 64, device1.s));
        },
        false);
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.peer_copy_waits_for", SECOND_DEVICE, [](Rec& r) {
    // which streams of the two devices a synchronous copy waits for
    const SecondDevice device1;
    const Stream near(NB), blocking_near(BL);
    CUstream blocking_far = nullptr;
    {
      const Current current(device1.ctx);
      OK(cuStreamCreate(&blocking_far, BL));
    }
    const auto held = [&](const char* key, CUstream s) {
      ValueGate v;
      hold(v, s);
      record_blocking(r, key,
                      blocking([&] { v.open(); },
                               [&] {
                                 const CUresult res =
                                     cuMemcpyPeer(g.dbuf, g.ctx, device1.mem, device1.ctx, 64);
                                 return res == CUDA_SUCCESS ? cuStreamSynchronize(nullptr) : res;
                               }));
      v.open();
      OK(cuStreamSynchronize(s));
    };
    held("near", near);
    held("near_blocking", blocking_near);
    held("far", device1.s);
    held("far_blocking", blocking_far);
    cuStreamDestroy(blocking_far);
  });
  add("two.copy_of_managed", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    CUdeviceptr m = 0;
    OK(cuMemAllocManaged(&m, kSecondDeviceBytes, CU_MEM_ATTACH_GLOBAL));
    const Words there{device1.ctx, device1.mem}, managed{g.ctx, m};
    Copied c(r);
    c.copy("from", s, managed, there, [&] { return cuMemcpyAsync(m, device1.mem, kCopied, s); });
    c.copy("to", s, there, managed, [&] { return cuMemcpyAsync(device1.mem, m, kCopied, s); });
    c.copy("far_stream.from", device1.s, managed, there,
           [&] { return cuMemcpyAsync(m, device1.mem, kCopied, device1.s); });
    c.copy("far_stream.to", device1.s, there, managed,
           [&] { return cuMemcpyAsync(device1.mem, m, kCopied, device1.s); });
    c.copy("peer.to", s, there, managed,
           [&] { return cuMemcpyPeerAsync(device1.mem, device1.ctx, m, g.ctx, kCopied, s); });
    OK(cuMemFree(m));
  });
  for (const auto& [state, name] : Reached::all) {
    if (state != Reached::State::pool && state != Reached::State::pool_readwrite) continue;
    add("two.copy_of_managed_and_" + std::string(name), SECOND_DEVICE, [state = state](Rec& r) {
      const SecondDevice device1;
      const Stream s(NB);
      const Reached reached(state, device1);
      CUdeviceptr m = 0;
      OK(cuMemAllocManaged(&m, kSecondDeviceBytes, CU_MEM_ATTACH_GLOBAL));
      const Words there{device1.ctx, reached.p}, managed{g.ctx, m};
      Copied c(r);
      c.copy("from", s, managed, there, [&] { return cuMemcpyAsync(m, reached.p, kCopied, s); });
      c.copy("to", s, there, managed, [&] { return cuMemcpyAsync(reached.p, m, kCopied, s); });
      c.copy("far_stream.from", device1.s, managed, there,
             [&] { return cuMemcpyAsync(m, reached.p, kCopied, device1.s); });
      c.copy("dtod.to", s, there, managed,
             [&] { return cuMemcpyDtoDAsync(reached.p, m, kCopied, s); });
      OK(cuMemFree(m));
    });
  }
}

}  // namespace weir::conformance
