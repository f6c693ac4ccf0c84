// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_merge.cpp - several simultaneous captures; external nodes.
#include "probe/probe.hpp"

namespace weir::conformance {

void capture_merge_cases() {
  add("capture.merge", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e;
    begin(s);
    begin(t);
    lab(s, "a");
    lab(t, "b");
    OK(cuEventRecord(e, s));
    r.k("wait", cuStreamWaitEvent(t, e, 0));
    r.k("s_status", capture_status(s));
    r.k("t_status", capture_status(t));
    rec_end(r, "end_t", t);
    rec_end(r, "end_s", s);
  });
  add("capture.merge_forked", [](Rec& r) {
    Stream s(NB), t(NB), u(NB);
    Event e, f;
    begin(s);
    begin(t);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(u, e, 0));
    OK(cuEventRecord(f, t));
    r.k("wait", cuStreamWaitEvent(u, f, 0));
    r.k("s_status", capture_status(s));
    r.k("t_status", capture_status(t));
    r.k("u_status", capture_status(u));
    rec_end(r, "end_s", s);
    rec_end(r, "end_t", t);
  });
  add("capture.two_independent", [](Rec& r) {
    Stream s(NB), t(NB);
    begin(s);
    r.k("second_begin", cuStreamBeginCapture(t, GLOBAL));
    lab(s, "a");
    lab(t, "b");
    r.k("ids_differ", capture_id(s) != capture_id(t));
    rec_end(r, "end_s", s);
    rec_end(r, "end_t", t);
  });
  add("capture.two_threads", [](Rec& r) {
    Stream s(NB), t(NB);
    begin(s);
    lab(s, "a");
    on_thread([&] {
      r.k("other_begin", cuStreamBeginCapture(t, GLOBAL));
      Trace& tr = new_trace();
      r.k("other_op", try_hf(t, tr, "b"));
      rec_end(r, "other_end", t);
    });
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.reused_stream", [](Rec& r) {
    Stream s(NB);
    for (int i = 0; i < 3; i++) {
      begin(s);
      lab(s, "n" + std::to_string(i));
      rec_end(r, "end" + std::to_string(i), s);
    }
  });
  add("capture.external_nodes", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e, f;
    begin(s);
    lab(s, "a");
    r.k("record_ext", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("query_e", cuEventQuery(e));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
    begin(s, RELAXED);
    lab(s, "a");
    r.k("record_ext2", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("query_e2", cuEventQuery(e));
    r.k("wait_ext", cuStreamWaitEvent(s, f, CU_EVENT_WAIT_EXTERNAL));
    r.k("deps", capture_dep_labels(s));
    r.k("wait_plain_on_ext_event", cuStreamWaitEvent(s, e, 0));
    r.k("status2", capture_status(s));
    rec_end(r, "end2", s);
    r.k("query_after", cuEventQuery(e));
  });
  add("capture.external_flags_bad", [](Rec& r) {
    Stream s(NB);
    Event e;
    begin(s);
    lab(s, "a");
    r.k("record2", cuEventRecordWithFlags(e, s, 2));
    r.k("status1", capture_status(s));
    r.k("wait2", cuStreamWaitEvent(s, e, 2));
    r.k("status2", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.external_wait_on_captured_event", [](Rec& r) {
    Stream s(NB);
    Event e;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    r.k("wait_ext", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.external_wait_from_noncapturing", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e;
    begin(s, RELAXED);
    OK(cuEventRecord(e, s));
    r.k("wait_ext_noncapturing", cuStreamWaitEvent(t, e, CU_EVENT_WAIT_EXTERNAL));
    r.k("t_status", capture_status(t));
    r.k("s_status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.external_launch", [](Rec& r) {
    // an external record and an external wait take effect at every launch
    Stream s(NB), t(NB), u(NB);
    Event rec, wt;
    Cell c = new_cell(), d = new_cell();
    ValueGate v, w;
    begin(s);
    OK(cuStreamWaitEvent(s, wt, CU_EVENT_WAIT_EXTERNAL));
    mark(s, c);
    OK(cuEventRecordWithFlags(rec, s, CU_EVENT_RECORD_EXTERNAL));
    CUgraph gr = end_ok(s);
    Graph own(gr);
    Exec x(gr);
    v.arm(t);
    OK(cuEventRecord(wt, t));
    OK(cuGraphLaunch(x, s));
    r.k("waits_for_event", !early(c));
    r.k("record_pending", cuEventQuery(rec));
    OK(cuStreamWaitEvent(u, rec, 0));
    mark(u, d);
    r.k("waiter_early", early(d));
    v.open();
    r.k("done", late(c) && late(d));
    OK(cuStreamSynchronize(s));
    r.k("record_complete", cuEventQuery(rec));
  });
}

}  // namespace weir::conformance
