// cases/two_peer_copies.cpp - copies that name a context for each side: right ones, wrong ones, none.
#include "cases/two_devices/two_reach.hpp"

namespace weir::conformance {
namespace {

CUdeviceptr hp(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }

void contexts(Rec& r, bool far_stream) {
  const Far far;
  const Stream near(NB);
  const CUstream s = far_stream ? far.s : near.s;
  const Words there{far.ctx, far.mem}, here{g.ctx, g.dbuf};
  Copied c(r);
  const auto with = [&](const char* key, CUcontext to, CUcontext from) {
    c.copy(key, s, here, there, [&] { return cuMemcpyPeerAsync(g.dbuf, to, far.mem, from, kCopied, s); });
  };
  with("right", g.ctx, far.ctx);
  with("swapped", far.ctx, g.ctx);
  with("both_near", g.ctx, g.ctx);
  with("both_far", far.ctx, far.ctx);
  with("null_to", nullptr, far.ctx);
  with("null_from", g.ctx, nullptr);
  with("null_both", nullptr, nullptr);
}

}  // namespace

void two_peer_copies_cases() {
  add("two.peer_copy_contexts", FAR, [](Rec& r) { contexts(r, false); });
  add("two.peer_copy_contexts_far_stream", FAR, [](Rec& r) { contexts(r, true); });
  add("two.peer_copy_contexts_at_once", FAR, [](Rec& r) {
    const Far far;
    const Words there{far.ctx, far.mem}, here{g.ctx, g.dbuf};
    Copied c(r);
    const auto with = [&](const char* key, CUcontext to, CUcontext from) {
      c.copy(key, nullptr, here, there, [&] { return cuMemcpyPeer(g.dbuf, to, far.mem, from, kCopied); });
    };
    with("right", g.ctx, far.ctx);
    with("swapped", far.ctx, g.ctx);
    with("null_to", nullptr, far.ctx);
    with("null_from", g.ctx, nullptr);
  });
  add("two.peer_copy_of_host_memory", FAR, [](Rec& r) {
    const Far far;
    const Stream s(NB);
    const Words there{far.ctx, far.mem};
    const Words pinned{nullptr, hp(g.pin)}, pageable{nullptr, hp(g.page)};
    Copied c(r);
    c.copy("pinned", s, there, pinned,
           [&] { return cuMemcpyPeerAsync(far.mem, far.ctx, hp(g.pin), g.ctx, kCopied, s); });
    c.copy("pinned_far", s, there, pinned,
           [&] { return cuMemcpyPeerAsync(far.mem, far.ctx, hp(g.pin), far.ctx, kCopied, s); });
    c.copy("pageable", s, there, pageable,
           [&] { return cuMemcpyPeerAsync(far.mem, far.ctx, hp(g.page), g.ctx, kCopied, s); });
    c.copy("to_pinned", s, pinned, there,
           [&] { return cuMemcpyPeerAsync(hp(g.pin), g.ctx, far.mem, far.ctx, kCopied, s); });
  });
  add("two.peer_copy_odd", FAR, [](Rec& r) {
    const Far far;
    const Stream s(NB);
    Tried t(r);
    t.call("size0", s, [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, far.mem, far.ctx, 0, s); });
    t.call("null_from", s, [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, 0, far.ctx, 64, s); });
    t.call("null_to", s, [&] { return cuMemcpyPeerAsync(0, g.ctx, far.mem, far.ctx, 64, s); });
    t.call("legacy", LEGACY, [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, far.mem, far.ctx, 64, LEGACY); });
    t.call("per_thread", PER_THREAD,
           [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, far.mem, far.ctx, 64, PER_THREAD); });
    const Current current(far.ctx);
    t.call("far_current", s, [&] { return cuMemcpyPeerAsync(g.dbuf, g.ctx, far.mem, far.ctx, 64, s); });
  });
  add("two.peer_copy_without_context", FAR, [](Rec& r) {
    const Far far;
    const Stream s(NB);
    on_thread(
        [&] {
          r.k("async", cuMemcpyPeerAsync(g.dbuf, g.ctx, far.mem, far.ctx, 64, s));
          r.k("async_legacy", cuMemcpyPeerAsync(g.dbuf, g.ctx, far.mem, far.ctx, 64, nullptr));
          r.k("at_once", cuMemcpyPeer(g.dbuf, g.ctx, far.mem, far.ctx, 64));
          r.k("address", cuMemcpyAsync(g.dbuf, far.mem, 64, s));
          r.k("address_far_stream", cuMemcpyAsync(g.dbuf, far.mem, 64, far.s));
        },
        false);
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(far.s));
  });
  add("two.peer_copy_waits_for", FAR, [](Rec& r) {
    // Which streams of the two devices must be done before a copy by the host begins?
    const Far far;
    const Stream near(NB), blocking_near(BL);
    CUstream blocking_far = nullptr;
    {
      const Current current(far.ctx);
      OK(cuStreamCreate(&blocking_far, BL));
    }
    const auto held = [&](const char* key, CUstream s) {
      VGate v;
      hold(v, s);
      rec_blk(r, key,
              blocking([&] { v.open(); },
                       [&] {
                         const CUresult res = cuMemcpyPeer(g.dbuf, g.ctx, far.mem, far.ctx, 64);
                         return res == CUDA_SUCCESS ? cuStreamSynchronize(nullptr) : res;
                       }));
      v.open();
      OK(cuStreamSynchronize(s));
    };
    held("near", near);
    held("near_blocking", blocking_near);
    held("far", far.s);
    held("far_blocking", blocking_far);
    cuStreamDestroy(blocking_far);
  });
  add("two.copy_of_managed", FAR, [](Rec& r) {
    const Far far;
    const Stream s(NB);
    CUdeviceptr m = 0;
    OK(cuMemAllocManaged(&m, kFarBytes, CU_MEM_ATTACH_GLOBAL));
    const Words there{far.ctx, far.mem}, managed{g.ctx, m};
    Copied c(r);
    c.copy("from", s, managed, there, [&] { return cuMemcpyAsync(m, far.mem, kCopied, s); });
    c.copy("to", s, there, managed, [&] { return cuMemcpyAsync(far.mem, m, kCopied, s); });
    c.copy("far_stream.from", far.s, managed, there, [&] { return cuMemcpyAsync(m, far.mem, kCopied, far.s); });
    c.copy("far_stream.to", far.s, there, managed, [&] { return cuMemcpyAsync(far.mem, m, kCopied, far.s); });
    c.copy("peer.to", s, there, managed, [&] { return cuMemcpyPeerAsync(far.mem, far.ctx, m, g.ctx, kCopied, s); });
    OK(cuMemFree(m));
  });
  for (const auto& [state, name] : Reached::all) {
    if (state != Reached::State::pool && state != Reached::State::pool_readwrite) continue;
    add("two.copy_of_managed_and_" + std::string(name), FAR, [state = state](Rec& r) {
      const Far far;
      const Stream s(NB);
      const Reached reached(state, far);
      CUdeviceptr m = 0;
      OK(cuMemAllocManaged(&m, kFarBytes, CU_MEM_ATTACH_GLOBAL));
      const Words there{far.ctx, reached.p}, managed{g.ctx, m};
      Copied c(r);
      c.copy("from", s, managed, there, [&] { return cuMemcpyAsync(m, reached.p, kCopied, s); });
      c.copy("to", s, there, managed, [&] { return cuMemcpyAsync(reached.p, m, kCopied, s); });
      c.copy("far_stream.from", far.s, managed, there, [&] { return cuMemcpyAsync(m, reached.p, kCopied, far.s); });
      c.copy("dtod.to", s, there, managed, [&] { return cuMemcpyDtoDAsync(reached.p, m, kCopied, s); });
      OK(cuMemFree(m));
    });
  }
}

}  // namespace weir::conformance
