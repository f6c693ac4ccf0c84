// SPDX-License-Identifier: Apache-2.0
// cases/stream/order.cpp - order between streams made with events.
#include "probe/probe.hpp"

namespace weir::conformance {

void order_cases() {
  add("order.fork_join", [](Rec& r) {
    Stream a(NB), b(NB), c(NB);
    Event f, jb, jc;
    Trace& t = new_trace();
    hf(a, t, "a1");
    OK(cuEventRecord(f, a));
    OK(cuStreamWaitEvent(b, f, 0));
    OK(cuStreamWaitEvent(c, f, 0));
    hf(b, t, "mid");
    hf(c, t, "mid");
    OK(cuEventRecord(jb, b));
    OK(cuEventRecord(jc, c));
    OK(cuStreamWaitEvent(a, jb, 0));
    OK(cuStreamWaitEvent(a, jc, 0));
    hf(a, t, "a2");
    OK(cuStreamSynchronize(a));
    r.k("order", t.str());
  });
  add("order.chain_of_four", [](Rec& r) {
    Stream s0(NB), s1(BL), s2(NB), s3(BL);
    CUstream ss[] = {s0, s1, s2, s3};
    Event e[4];
    Trace& t = new_trace();
    ValueGate v;
    v.arm(s0);
    for (int i = 0; i < 4; i++) {
      if (i) OK(cuStreamWaitEvent(ss[i], e[i - 1], 0));
      hf(ss[i], t, "s" + std::to_string(i));
      OK(cuEventRecord(e[i], ss[i]));
    }
    r.k("early", t.wait_size(1, kMustNotHappenMs));
    v.open();
    OK(cuEventSynchronize(e[3]));
    r.k("order", t.str());
  });
  add("order.ping_pong", [](Rec& r) {
    Stream a(NB), b(NB);
    Event ea, eb;
    Trace& t = new_trace();
    for (int i = 0; i < 4; i++) {
      hf(a, t, "a" + std::to_string(i));
      OK(cuEventRecord(ea, a));
      OK(cuStreamWaitEvent(b, ea, 0));
      hf(b, t, "b" + std::to_string(i));
      OK(cuEventRecord(eb, b));
      OK(cuStreamWaitEvent(a, eb, 0));
    }
    OK(cuStreamSynchronize(a));
    r.k("order", t.str());
  });
  add("order.event_reused_in_loop", [](Rec& r) {
    Stream a(NB), b(NB);
    Event e;
    Cell c = new_cell();
    Trace& t = new_trace();
    for (uint32_t i = 1; i <= 10; i++) {
      mark(a, c, i);
      OK(cuEventRecord(e, a));
      OK(cuStreamWaitEvent(b, e, 0));
      OK(hf_do(b, [&t, c, i] { t.add(c.get() >= i ? "ok" : "bad"); }));
    }
    OK(cuStreamSynchronize(b));
    OK(cuStreamSynchronize(a));
    std::string s = t.str();
    r.k("all_ok", s.find("bad") == std::string::npos && t.size() == 10);
  });
  add("order.transitive_wait", [](Rec& r) {
    Stream a(NB), b(NB), c(NB);
    Event ea, eb;
    Cell m = new_cell();
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(ea, a));
    OK(cuStreamWaitEvent(b, ea, 0));
    OK(cuEventRecord(eb, b));
    OK(cuStreamWaitEvent(c, eb, 0));
    mark(c, m);
    r.k("event_b", cuEventQuery(eb));
    r.k("early", early(m));
    v.open();
    r.k("done", late(m));
    r.k("event_b_after", cuEventQuery(eb));
  });
  add("order.data_through_event", [](Rec& r) {
    Stream a(NB), b(NB);
    Event e;
    auto* h = reinterpret_cast<uint32_t*>(g.pin);
    h[0] = 77;
    h[1] = 0;
    ValueGate v;
    v.arm(a);
    OK(cuMemcpyHtoDAsync(g.dbuf, h, 4, a));
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    OK(cuMemcpyDtoHAsync(h + 1, g.dbuf, 4, b));
    v.open();
    OK(cuStreamSynchronize(b));
    r.k("value", h[1]);
  });
}

}  // namespace weir::conformance
