// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_order.cpp - execution order between two devices.
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

class FarStream {
 public:
  CUstream s = nullptr;
  FarStream(const SecondDevice& device1, unsigned flags) {
    const Current current(device1.ctx);
    OK(cuStreamCreate(&s, flags));
  }
  FarStream(const FarStream&) = delete;
  FarStream& operator=(const FarStream&) = delete;
  ~FarStream() { cuStreamDestroy(s); }
  operator CUstream() const { return s; }
};

}  // namespace

void two_order_cases() {
  add("two.order_by_event", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const Event e;
    Cell c = new_cell();
    ValueGate v;
    hold(v, s);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(device1.s, e, 0));
    mark(device1.s, c);
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
    OK(cuStreamSynchronize(device1.s));
    CUevent there = nullptr;
    {
      const Current current(device1.ctx);
      OK(cuEventCreate(&there, CU_EVENT_DISABLE_TIMING));
    }
    Cell d = new_cell();
    ValueGate w;
    hold(w, device1.s);
    OK(cuEventRecord(there, device1.s));
    OK(cuStreamWaitEvent(s, there, 0));
    mark(s, d);
    r.k("back_early", early(d));
    w.open();
    r.k("back_done", late(d));
    OK(cuStreamSynchronize(s));
    OK(cuEventDestroy(there));
  });
  add("two.legacy_streams", SECOND_DEVICE, [](Rec& r) {
    // A legacy stream belongs to one device: it waits only for that device's blocking streams.
    const SecondDevice device1;
    const Stream near_blocking(BL);
    const FarStream far_blocking(device1, BL);
    const auto legacy_after = [&](const char* key, CUstream held, CUcontext current_context) {
      Cell c = new_cell();
      ValueGate v;
      hold(v, held);
      {
        const Current current(current_context);
        mark(nullptr, c);
      }
      r.k(key, early(c));
      v.open();
      r.k(std::string(key) + ".done", late(c));
      OK(cuStreamSynchronize(held));
    };
    legacy_after("near_after_near", near_blocking, g.ctx);
    legacy_after("near_after_far", far_blocking, g.ctx);
    legacy_after("far_after_far", far_blocking, device1.ctx);
    legacy_after("far_after_near", near_blocking, device1.ctx);
    Cell c = new_cell(), d = new_cell();
    ValueGate v;
    hold(v, nullptr);
    {
      const Current current(device1.ctx);
      mark(nullptr, c);
      mark(far_blocking, d);
    }
    r.k("far_legacy_after_near_legacy", early(c));
    r.k("far_blocking_after_near_legacy", early(d));
    v.open();
    OK(cuCtxSynchronize());
    OK(cuStreamSynchronize(far_blocking));
  });
  add("two.per_thread_streams", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    Cell c = new_cell();
    ValueGate v;
    hold(v, PER_THREAD);
    {
      const Current current(device1.ctx);
      mark(PER_THREAD, c);
    }
    r.k("far_after_near", early(c));
    v.open();
    OK(cuStreamSynchronize(PER_THREAD));
    const Current current(device1.ctx);
    OK(cuStreamSynchronize(PER_THREAD));
  });
  add("two.context_sync", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const auto sync = [&](const char* key, CUstream held, CUcontext of) {
      ValueGate v;
      hold(v, held);
      record_blocking(r, key, blocking([&] { v.open(); }, [&] { return cuCtxSynchronize_v2(of); }));
      v.open();
      OK(cuStreamSynchronize(held));
    };
    sync("near_while_far_held", device1.s, g.ctx);
    sync("far_while_near_held", s, device1.ctx);
    sync("far_while_far_held", device1.s, device1.ctx);
  });
  add("two.copy_waits_for_stream_only", SECOND_DEVICE, [](Rec& r) {
    // A copy between the devices in a stream of device 0, while streams of device 1 are blocked.
    const SecondDevice device1;
    const Stream s(NB);
    const FarStream far_blocking(device1, BL);
    const auto copied = [&](const std::string& key, CUstream held, const auto& copy) {
      ValueGate v;
      hold(v, held);
      Cell c = new_cell();
      OK(copy());
      mark(s, c);
      r.k(key, early(c));
      v.open();
      r.k(key + ".done", late(c));
      OK(cuStreamSynchronize(held));
      OK(cuStreamSynchronize(s));
    };
    const auto peer = [&] {
      return cuMemcpyPeerAsync(g.dbuf, g.ctx, device1.mem, device1.ctx, 64, s);
    };
    const auto peer_out = [&] {
      return cuMemcpyPeerAsync(device1.mem, device1.ctx, g.dbuf, g.ctx, 64, s);
    };
    const auto plain = [&] { return cuMemcpyAsync(g.dbuf, device1.mem, 64, s); };
    copied("peer_far_held", device1.s, peer);
    copied("peer_out_far_held", device1.s, peer_out);
    copied("peer_far_blocking_held", far_blocking, peer);
    copied("plain_far_held", device1.s, plain);
    const Stream other(NB);
    copied("peer_other_near_held", other, peer);
    OK(device1.enable_access_from_first());
    copied("peer_reached_far_held", device1.s, peer);
    copied("plain_reached_far_held", device1.s, plain);
  });
  add("two.copy_in_order", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    put_words(device1.ctx, device1.mem, 1);
    ValueGate v;
    hold(v, s);
    OK(cuMemsetD32Async(g.dbuf, 7, 16, s));
    OK(cuMemcpyPeerAsync(device1.mem, device1.ctx, g.dbuf, g.ctx, 64, s));
    r.k("query", cuStreamQuery(s));
    r.k("held", get_word(device1.ctx, device1.mem));
    v.open();
    r.k("sync", cuStreamSynchronize(s));
    r.k("then", get_word(device1.ctx, device1.mem));
  });
  add("two.graph_waits", SECOND_DEVICE, [](Rec& r) {
    // An executable graph launched in a stream of device 0 and then in one of device 1: the second
    // launch waits for the first.
    const SecondDevice device1;
    const Stream s(NB);
    ValueGate v;
    Trace& t = new_trace();
    Graph gr;
    const CUgraphNode gate = add_gate(gr, {}, v);
    add_label(gr, {gate}, "x", &t);
    Exec x(gr);
    r.k("near", cuGraphLaunch(x, s));
    r.k("far", cuGraphLaunch(x, device1.s));
    Cell c = new_cell();
    mark(device1.s, c);
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(device1.s));
    r.k("runs", static_cast<unsigned long>(t.size()));
  });
}

}  // namespace weir::conformance
