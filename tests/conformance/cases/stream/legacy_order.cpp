// SPDX-License-Identifier: Apache-2.0
// cases/stream/legacy_order.cpp - order between streams made by the legacy stream.
#include "probe/probe.hpp"

namespace weir::conformance {

void legacy_order_cases() {
  add("legacy.stream_created_after", [](Rec& r) {
    Cell c = new_cell(), d = new_cell();
    ValueGate v;
    v.arm(nullptr);
    Stream s(BL), n(NB);
    mark(s, c);
    mark(n, d);
    r.k("new_blocking_waits", !early(c));
    r.k("new_nonblocking_runs", late(d));
    v.open();
    r.k("done", late(c));
    OK(cuCtxSynchronize());
  });
  add("legacy.orders_two_streams", [](Rec& r) {
    Stream a(BL), b(BL), n(NB);
    Cell c = new_cell(), d = new_cell(), l = new_cell();
    ValueGate v;
    v.arm(a);
    mark(nullptr, l);
    mark(b, c);
    mark(n, d);
    r.k("b_waits_for_a", !early(c));
    r.k("nonblocking_runs", late(d));
    v.open();
    r.k("done", late(c) && late(l));
    OK(cuCtxSynchronize());
  });
  add("legacy.earlier_work_not_ordered", [](Rec& r) {
    Stream a(BL), b(BL);
    Cell c = new_cell(), l = new_cell();
    ValueGate v;
    mark(b, c);
    v.arm(a);
    mark(nullptr, l);
    r.k("b_submitted_before_runs", late(c));
    v.open();
    OK(cuCtxSynchronize());
  });
  add("legacy.event_record_captures_blocking", [](Rec& r) {
    Stream b(BL), n(NB);
    Event e, f;
    ValueGate v, w;
    v.arm(b);
    w.arm(n);
    OK(cuEventRecord(e, nullptr));
    r.k("both_busy", cuEventQuery(e));
    v.open();
    OK(cuStreamSynchronize(b));
    record_blocking(r, "only_nonblocking_busy",
                    blocking([&] { w.open(); }, [&] { return cuEventSynchronize(e); }));
    w.open();
    OK(cuCtxSynchronize());
  });
  add("legacy.event_record_orders_later", [](Rec& r) {
    Stream a(BL), b(BL);
    Event e;
    Cell c = new_cell();
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, nullptr));
    mark(b, c);
    r.k("later_blocking_work_waits", !early(c));
    v.open();
    r.k("done", late(c));
    OK(cuCtxSynchronize());
  });
  add("legacy.wait_event_orders_blocking", [](Rec& r) {
    Stream n(NB), b(BL), m(NB);
    Event e;
    Cell c = new_cell(), d = new_cell(), l = new_cell();
    ValueGate v;
    v.arm(n);
    OK(cuEventRecord(e, n));
    OK(cuStreamWaitEvent(nullptr, e, 0));
    mark(b, c);
    mark(m, d);
    mark(nullptr, l);
    r.k("blocking_waits", !early(c));
    r.k("nonblocking_runs", late(d));
    r.k("legacy_waits", !early(l));
    v.open();
    r.k("done", late(c) && late(l));
    OK(cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
