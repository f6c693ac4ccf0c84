// SPDX-License-Identifier: Apache-2.0
// cases/event/event_external.cpp - events recorded and waited for with flags, in captures and
// outside.
#include "probe/probe.hpp"

#include <utility>

namespace weir::conformance {

void event_external_cases() {
  add("event.flags_of_default_streams", [](Rec& r) {
    Event e;
    const std::pair<const char*, CUstream> hs[] = {
        {"null", nullptr}, {"legacy", LEGACY}, {"per_thread", PER_THREAD}};
    for (auto& [n, s] : hs) {
      for (unsigned f : {0u, 1u, 2u, 3u, 0x80000000u}) {
        const std::string k = std::string(n) + std::to_string(f);
        r.k(k + ".record", cuEventRecordWithFlags(e, s, f));
        r.k(k + ".wait", cuStreamWaitEvent(s, e, f));
      }
    }
    r.k("sync", cuCtxSynchronize());
  });
  add("event.external_in_modes", ISO, [](Rec& r) {
    const std::pair<const char*, CUstreamCaptureMode> modes[] = {
        {"global", GLOBAL}, {"local", LOCAL}, {"relaxed", RELAXED}};
    for (auto& [n, m] : modes) {
      const std::string k = n;
      Stream s(NB);
      Event e, f, timed(0), between(CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING);
      begin(s, m);
      r.k(k + ".record", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
      r.k(k + ".again", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
      r.k(k + ".timed", cuEventRecordWithFlags(timed, s, CU_EVENT_RECORD_EXTERNAL));
      r.k(k + ".interprocess", cuEventRecordWithFlags(between, s, CU_EVENT_RECORD_EXTERNAL));
      r.k(k + ".wait_unrecorded", cuStreamWaitEvent(s, f, CU_EVENT_WAIT_EXTERNAL));
      r.k(k + ".wait_own", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
      r.k(k + ".wait_interprocess", cuStreamWaitEvent(s, between, CU_EVENT_WAIT_EXTERNAL));
      r.k(k + ".status", capture_status(s));
      rec_end(r, k + ".end", s);
    }
  });
  add("event.external_then_plain", ISO, [](Rec& r) {
    // the state of an event that is recorded both ways in one capture
    Stream s(NB), t(NB);
    Event e;
    begin(s, RELAXED);
    lab(s, "a");
    r.k("plain", cuEventRecord(e, s));
    r.k("external", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("query", cuEventQuery(e));
    r.k("join", cuStreamWaitEvent(t, e, 0));
    r.k("t", capture_status(t));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("event.external_launch", [](Rec& r) {
    // A launch records the event; a second launch waits for another stream's record.
    Stream s(NB), t(NB);
    Event e, f;
    begin(s);
    OK(cuStreamWaitEvent(s, f, CU_EVENT_WAIT_EXTERNAL));
    OK(cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    Graph gr(end_ok(s));
    r.k("graph", describe(gr));
    Exec x(gr);
    ValueGate v;
    v.arm(t);
    OK(cuEventRecord(f, t));
    r.k("launch", cuGraphLaunch(x, s));
    r.k("held", cuEventQuery(e));
    r.k("stream_held", cuStreamQuery(s));
    v.open();
    r.k("sync", cuEventSynchronize(e));
    OK(cuStreamSynchronize(s));
  });
  add("event.external_elapsed", [](Rec& r) {
    Stream s(NB);
    Event a(0), b(0);
    begin(s);
    OK(cuEventRecordWithFlags(a, s, CU_EVENT_RECORD_EXTERNAL));
    OK(cuEventRecordWithFlags(b, s, CU_EVENT_RECORD_EXTERNAL));
    Graph gr(end_ok(s));
    Exec x(gr);
    float ms = -1;
    r.k("before", cuEventElapsedTime(&ms, a, b));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("after", cuEventElapsedTime(&ms, a, b));
    r.k("not_negative", ms >= 0);
  });
  add("event.external_of_other_context", SECOND_CONTEXT | ISO, [](Rec& r) {
    OtherCtx o;
    CUevent e = nullptr;
    {
      Current cur(o);
      OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    }
    Stream s(NB);
    begin(s, RELAXED);
    r.k("record", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("status1", capture_status(s));
    r.k("wait", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    r.k("status2", capture_status(s));
    rec_end(r, "end", s);
    cuEventDestroy(e);
  });
  add("event.null_with_flags", ISO, [](Rec& r) {
    Stream s(NB);
    Event e;
    r.k("record", cuEventRecordWithFlags(nullptr, s, 0));
    r.k("record_external", cuEventRecordWithFlags(nullptr, s, 1));
    r.k("record_bad_flags", cuEventRecordWithFlags(nullptr, s, 2));
    r.k("wait_external", cuStreamWaitEvent(s, nullptr, 1));
    begin(s, RELAXED);
    r.k("captured_record", cuEventRecordWithFlags(nullptr, s, 1));
    r.k("status1", capture_status(s));
    r.k("captured_flags", cuEventRecordWithFlags(e, s, 4));
    r.k("status2", capture_status(s));
    r.k("captured_wait", cuStreamWaitEvent(s, nullptr, 1));
    r.k("status3", capture_status(s));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
