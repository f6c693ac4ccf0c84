// SPDX-License-Identifier: Apache-2.0
// cases/event/event_wait.cpp - a wait binds to the record at the time of the call, and orders
// streams.
#include "probe/probe.hpp"

namespace weir::conformance {

void event_wait_cases() {
  add("event.wait_binds_at_call", [](Rec& r) {
    Event e;
    Stream a(NB), b(NB), c(NB);
    Cell m = new_cell();
    ValueGate va, vc;
    va.arm(a);
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    mark(b, m);
    vc.arm(c);
    OK(cuEventRecord(e, c));
    r.k("early", early(m));
    va.open();
    r.k("runs_with_second_record_pending", late(m));
    r.k("event_pending", cuEventQuery(e));
    vc.open();
    OK(cuStreamSynchronize(c));
    r.k("event_complete", cuEventQuery(e));
  });
  add("event.wait_before_record", [](Rec& r) {
    Event e;
    Stream a(NB), b(NB);
    Cell m = new_cell();
    OK(cuStreamWaitEvent(b, e, 0));
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, a));
    mark(b, m);
    r.k("not_held_by_later_record", late(m));
    v.open();
    OK(cuStreamSynchronize(a));
  });
  add("event.wait_orders", [](Rec& r) {
    Event e;
    Stream a(NB), b(NB);
    Cell m = new_cell();
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, a));
    r.k("wait", cuStreamWaitEvent(b, e, 0));
    mark(b, m);
    r.k("early", early(m));
    v.open();
    r.k("done", late(m));
  });
  add("event.wait_same_stream", [](Rec& r) {
    Event e;
    Stream a(NB);
    Cell m = new_cell();
    OK(cuEventRecord(e, a));
    r.k("wait", cuStreamWaitEvent(a, e, 0));
    mark(a, m);
    r.k("done", late(m));
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, a));
    r.k("wait_pending", cuStreamWaitEvent(a, e, 0));
    v.open();
    r.k("sync", cuStreamSynchronize(a));
  });
  add("event.wait_does_not_block_host", [](Rec& r) {
    Event e;
    Stream a(NB), b(NB);
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, a));
    record_blocking(r, "wait",
                    blocking([&] { v.open(); }, [&] { return cuStreamWaitEvent(b, e, 0); }));
    record_blocking(r, "record", blocking([&] { v.open(); }, [&] { return cuEventRecord(e, a); }));
  });
  add("event.wait_twice", [](Rec& r) {
    Event e, f;
    Stream a(NB), b(NB), c(NB);
    Cell m = new_cell();
    ValueGate v, w;
    v.arm(a);
    OK(cuEventRecord(e, a));
    w.arm(b);
    OK(cuEventRecord(f, b));
    OK(cuStreamWaitEvent(c, e, 0));
    OK(cuStreamWaitEvent(c, f, 0));
    OK(cuStreamWaitEvent(c, e, 0));
    mark(c, m);
    v.open();
    r.k("after_first_early", early(m));
    w.open();
    r.k("after_both", late(m));
  });
  add("event.many_waiters", [](Rec& r) {
    Event e;
    Stream a(NB);
    std::vector<std::unique_ptr<Stream>> ss;
    std::vector<Cell> cs;
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, a));
    for (int i = 0; i < 6; i++) {
      ss.push_back(std::make_unique<Stream>(NB));
      cs.push_back(new_cell());
      OK(cuStreamWaitEvent(*ss.back(), e, 0));
      mark(*ss.back(), cs.back());
    }
    sleep_ms(kMustNotHappenMs);
    int before = 0, after = 0;
    for (auto& c : cs) before += static_cast<int>(c.get());
    v.open();
    for (auto& c : cs) after += late(c) ? 1 : 0;
    r.k("before", before);
    r.k("after", after);
  });
}

}  // namespace weir::conformance
