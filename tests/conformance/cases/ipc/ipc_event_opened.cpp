// SPDX-License-Identifier: Apache-2.0
// cases/ipc/ipc_event_opened.cpp - events of another process, in the process that opened them:
// their use, and their state after the other's end.
#include "cases/ipc/opened_event.hpp"

namespace weir::conformance {

void ipc_event_opened_cases() {
  add("ipc.opened_event_states", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    r.k("unrecorded_query", cuEventQuery(e));
    r.k("unrecorded_sync", cuEventSynchronize(e));
    r.k("unrecorded_wait", cuStreamWaitEvent(s, e, 0));
    r.k("stream", cuStreamSynchronize(s));
    p.must("hold");
    p.must("record_s");
    r.k("pending_query", cuEventQuery(e));
    r.k("pending_wait", cuStreamWaitEvent(s, e, 0));
    Cell c = new_cell();
    mark(s, c);
    r.k("waits", !early(c));
    p.must("open");
    r.k("sync", cuEventSynchronize(e));
    r.k("released", late(c));
    r.k("complete_query", cuEventQuery(e));
    OK(cuStreamSynchronize(s));
    r.k("destroy", e.destroy());
    r.k("exporter_query", p.request("query"));
    r.k("exporter_record", p.request("record"));
    r.k("exporter_sync", p.request("sync"));
  });
  add("ipc.opened_event_sync_blocks", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    p.must("hold");
    p.must("record_s");
    record_blocking(r, "sync",
                    blocking([&] { p.send("open"); }, [&] { return cuEventSynchronize(e); }));
    r.k("opened", p.receive());
    r.k("query", cuEventQuery(e));
  });
  add("ipc.opened_event_twice", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    Opened a(h), b(h);
    r.k("same", a.e == b.e);
    p.must("hold");
    p.must("record_s");
    r.k("a", cuEventQuery(a));
    r.k("b", cuEventQuery(b));
    r.k("destroy_a", a.destroy());
    r.k("b_after", cuEventQuery(b));
    p.must("open");
    r.k("b_sync", cuEventSynchronize(b));
    r.k("destroy_b", b.destroy());
    CUevent again = nullptr;
    r.k("open_again", cuIpcOpenEventHandle(&again, h));
    if (again) r.k("again_query", cuEventQuery(again));
    if (again) r.k("again_destroy", cuEventDestroy(again));
  });
  add("ipc.opened_event_recorded_here", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    ValueGate v;
    v.arm(s);
    r.k("record", cuEventRecord(e, s));
    r.k("query", cuEventQuery(e));
    r.k("exporter_pending", p.request("query"));
    p.must("hold.0");
    p.must("open");
    r.k("exporter_waits", p.request("wait_s"));
    r.k("exporter_stream", p.request("idle"));
    v.open();
    r.k("exporter_sync", p.request("sync"));
    r.k("sync", cuEventSynchronize(e));
    OK(cuStreamSynchronize(s));
    r.k("record_legacy", cuEventRecord(e, nullptr));
    r.k("sync_legacy", cuEventSynchronize(e));
  });
  add("ipc.opened_event_wait_binds", SLOW, [](Rec& r) {
    // a wait for a record of the other process, which records again before the first is complete
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    p.must("record");
    p.must("sync");
    r.k("wait_complete", cuStreamWaitEvent(s, e, 0));
    Cell c = new_cell();
    p.must("hold");
    p.must("record_s");
    mark(s, c);
    r.k("bound_to_the_complete_one", late(c));
    p.must("open");
    OK(cuStreamSynchronize(s));
  });
  add("ipc.opened_event_recorded_twice", SLOW, [](Rec& r) {
    // recorded there in a blocked stream, then here in another: which streams wait
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream t(NB), u(NB), w(NB);
    p.must("hold");
    p.must("record_s");
    OK(cuStreamWaitEvent(u, e, 0));
    Cell first = new_cell(), second = new_cell(), recorder = new_cell();
    mark(u, first);
    OK(cuEventRecord(e, t));
    mark(t, recorder);
    OK(cuStreamWaitEvent(w, e, 0));
    mark(w, second);
    r.k("second_stream_waits", !early(recorder));
    r.k("first_wait_held", !early(first));
    r.k("second_wait_held", !early(second));
    r.k("query", cuEventQuery(e));
    r.k("exporter_query", p.request("query"));
    p.must("open");
    r.k("released", late(recorder) && late(first) && late(second));
    for (CUstream each : {t.s, u.s, w.s}) OK(cuStreamSynchronize(each));
  });
  add("ipc.opened_event_exporter_destroys", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    Opened e(h);
    p.must("record");
    p.must("sync");
    r.k("exporter_destroys", p.request("destroy"));
    r.k("query", cuEventQuery(e));
    r.k("sync", cuEventSynchronize(e));
    Stream s(NB);
    r.k("wait", cuStreamWaitEvent(s, e, 0));
    r.k("record", cuEventRecord(e, s));
    r.k("stream", cuStreamSynchronize(s));
    r.k("query_after", cuEventQuery(e));
    CUevent late_one = nullptr;
    r.k("open_again", cuIpcOpenEventHandle(&late_one, h));
    if (late_one) cuEventDestroy(late_one);
    r.k("destroy", e.destroy());
  });
  add("ipc.event_opened_after_its_end", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    p.must("destroy");
    CUevent e = nullptr;
    r.k("open", cuIpcOpenEventHandle(&e, h));
    if (e) cuEventDestroy(e);
  });
  add("ipc.event_opened_after_its_process", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    p.wait_for_exit();
    CUevent e = nullptr;
    r.k("open", cuIpcOpenEventHandle(&e, h));
    if (e) cuEventDestroy(e);
  });
  add("ipc.opened_event_outlives_process", ISO | SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    p.must("record");
    p.must("sync");
    p.wait_for_exit();
    r.k("query", cuEventQuery(e));
    r.k("sync", cuEventSynchronize(e));
    Stream s(NB);
    r.k("wait", cuStreamWaitEvent(s, e, 0));
    r.k("record", cuEventRecord(e, s));
    r.k("stream", cuStreamSynchronize(s));
    r.k("query_after", cuEventQuery(e));
    r.k("destroy", e.destroy());
  });
  add("ipc.opened_event_pending_at_exit", ISO | SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    p.must("hold");
    p.must("record_s");
    r.k("pending", cuEventQuery(e));
    p.wait_for_exit();
    r.k("~query", cuEventQuery(e));
    Stream s(NB);
    r.k("record_here", cuEventRecord(e, s));
    r.k("~query_here", cuEventQuery(e));
    r.k("destroy", e.destroy());
  });
}

}  // namespace weir::conformance
