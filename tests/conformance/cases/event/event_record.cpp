// SPDX-License-Identifier: Apache-2.0
// cases/event/event_record.cpp - recording: flags, failures, other threads, special streams.
#include "probe/probe.hpp"

#include <thread>

namespace weir::conformance {

void event_record_cases() {
  add("event.record_flags", [](Rec& r) {
    Event e;
    Stream s(NB);
    r.k("default", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_DEFAULT));
    r.k("external_outside", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("flags2", cuEventRecordWithFlags(e, s, 2));
    r.k("flags_all", cuEventRecordWithFlags(e, s, 0xffffffffu));
    r.k("wait_default", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_DEFAULT));
    r.k("wait_external_outside", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    r.k("wait_flags2", cuStreamWaitEvent(s, e, 2));
    r.k("wait_flags_all", cuStreamWaitEvent(s, e, 0xffffffffu));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("event.failed_record_keeps_state", [](Rec& r) {
    Event e;
    Stream s(NB);
    ValueGate v;
    v.arm(s);
    OK(cuEventRecord(e, s));
    r.k("bad", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("query", cuEventQuery(e));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("after", cuEventQuery(e));
  });
  add("event.cross_thread", [](Rec& r) {
    Event e;
    Stream s(NB);
    ValueGate v;
    v.arm(s);
    OK(cuEventRecord(e, s));
    on_thread([&] {
      r.k("query", cuEventQuery(e));
      record_blocking(r, "sync",
                      blocking([&] { v.open(); }, [&] { return cuEventSynchronize(e); }));
    });
  });
  add("event.sync_follows_rerecord", [](Rec& r) {
    // cuEventSynchronize is waiting when the event is recorded again elsewhere.
    Event e;
    Stream a(NB), b(NB);
    ValueGate v, w;
    v.arm(a);
    OK(cuEventRecord(e, a));
    Trace& t = new_trace();
    std::thread th([&] {
      cuCtxSetCurrent(g.ctx);
      t.add(result_name(cuEventSynchronize(e)));
    });
    sleep_ms(100);
    w.arm(b);
    CUresult rec = cuEventRecord(e, b);
    v.open();
    bool first = t.wait_size(1, 500);
    w.open();
    th.join();
    r.k("record", rec);
    r.k("~returns_after_first_record", first);
    r.k("sync", t.str());
    OK(cuCtxSynchronize());
  });
  add("event.record_special_streams", [](Rec& r) {
    Event e;
    r.k("null", cuEventRecord(e, nullptr));
    r.k("sync1", cuEventSynchronize(e));
    r.k("legacy", cuEventRecord(e, LEGACY));
    r.k("sync2", cuEventSynchronize(e));
    r.k("per_thread", cuEventRecord(e, PER_THREAD));
    r.k("sync3", cuEventSynchronize(e));
    r.k("wait_legacy", cuStreamWaitEvent(LEGACY, e, 0));
    r.k("wait_per_thread", cuStreamWaitEvent(PER_THREAD, e, 0));
    OK(cuCtxSynchronize());
  });
  add("event.destroyed_stream", [](Rec& r) {
    Event e(0);
    {
      Stream s(NB);
      OK(cuEventRecord(e, s));
      OK(cuStreamSynchronize(s));
    }
    r.k("query", cuEventQuery(e));
    r.k("sync", cuEventSynchronize(e));
    Stream t(NB);
    r.k("wait", cuStreamWaitEvent(t, e, 0));
    float ms = -1;
    r.k("elapsed", cuEventElapsedTime(&ms, e, e));
  });
  add("event.interprocess_basics", [](Rec& r) {
    Event e(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
    Stream s(NB), w(NB);
    Cell c = new_cell();
    ValueGate v;
    v.arm(s);
    r.k("record", cuEventRecord(e, s));
    r.k("query", cuEventQuery(e));
    r.k("wait", cuStreamWaitEvent(w, e, 0));
    mark(w, c);
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
    r.k("sync", cuEventSynchronize(e));
    float ms;
    r.k("elapsed", cuEventElapsedTime(&ms, e, e));
  });
}

}  // namespace weir::conformance
