// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_events.cpp - events recorded in a capture: afterwards, and in other
// captures.
#include "probe/probe.hpp"

namespace weir::conformance {

void capture_events_cases() {
  add("capture.captured_event_afterwards", [](Rec& r) {
    // what a captured event returns after its capture, and after it is recorded again
    for (bool good : {true, false}) {
      std::string k = good ? "ended" : "invalidated";
      Stream s(NB), t(NB);
      Event e(0), done(0);
      OK(cuEventRecord(done, s));
      OK(cuStreamSynchronize(s));
      begin(s, RELAXED);
      lab(s, "a");
      OK(cuEventRecord(e, s));
      if (!good)
        cuStreamAddCallback(
            s, [](CUstream, CUresult, void*) {}, nullptr, 0);
      CUgraph gr = nullptr;
      r.k(k + ".end", cuStreamEndCapture(s, &gr));
      float ms = 0;
      r.k(k + ".query", cuEventQuery(e));
      r.k(k + ".sync", cuEventSynchronize(e));
      r.k(k + ".elapsed", cuEventElapsedTime(&ms, done, e));
      r.k(k + ".wait", cuStreamWaitEvent(t, e, 0));
      r.k(k + ".status_waiter", capture_status(t));
      r.k(k + ".record", cuEventRecord(e, t));
      r.k(k + ".sync_rerecorded", cuEventSynchronize(e));
      r.k(k + ".query_rerecorded", cuEventQuery(e));
      if (gr) cuGraphDestroy(gr);
    }
  });
  add("capture.captured_event_global_mode", [](Rec& r) {
    Stream s(NB);
    Event e;
    begin(s, GLOBAL);
    OK(cuEventRecord(e, s));
    r.k("query", cuEventQuery(e));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.captured_event_of_graph_destroyed", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    CUgraph gr = end_ok(s);
    OK(cuGraphDestroy(gr));
    r.k("wait_not_capturing", cuStreamWaitEvent(t, e, 0));
    begin(t);
    r.k("wait_in_new_capture", cuStreamWaitEvent(t, e, 0));
    r.k("status", capture_status(t));
    rec_end(r, "end", t);
    r.k("destroy", cuEventDestroy(e.e));
    e.e = nullptr;
  });
  add("capture.captured_event_in_later_capture", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    CUgraph gr = end_ok(s);
    Graph own(gr);
    begin(t);
    lab(t, "b");
    r.k("wait", cuStreamWaitEvent(t, e, 0));
    r.k("status", capture_status(t));
    rec_end(r, "end", t);
  });
  add("capture.precapture_event", [](Rec& r) {
    struct {
      const char* n;
      int kind;  // 0 unrecorded, 1 complete on another stream, 2 pending on another stream, 3
                 // complete on the same
    } list[] = {
        {"unrecorded", 0}, {"complete_other", 1}, {"pending_other", 2}, {"complete_same", 3}};
    for (auto& x : list) {
      Stream s(NB), t(NB);
      Event e;
      ValueGate v;
      if (x.kind == 2) v.arm(t);
      if (x.kind == 1 || x.kind == 2) OK(cuEventRecord(e, t));
      if (x.kind == 3) OK(cuEventRecord(e, s));
      if (x.kind == 1) OK(cuStreamSynchronize(t));
      if (x.kind == 3) OK(cuStreamSynchronize(s));
      begin(s);
      lab(s, "a");
      std::string k = x.n;
      r.k(k, cuStreamWaitEvent(s, e, 0));
      r.k(k + ".status", capture_status(s));
      rec_end(r, k + ".end", s);
      v.open();
      OK(cuStreamSynchronize(t));
    }
  });
  add("capture.event_recorded_outside_during", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e;
    begin(s, RELAXED);
    lab(s, "a");
    r.k("record_other", cuEventRecord(e, t));
    r.k("status1", capture_status(s));
    r.k("wait", cuStreamWaitEvent(s, e, 0));
    r.k("status2", capture_status(s));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
