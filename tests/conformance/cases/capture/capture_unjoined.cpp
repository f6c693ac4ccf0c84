// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_unjoined.cpp - captures with unjoined work.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void capture_unjoined_cases() {
  add("capture.unjoined", [](Rec& r) {
    Stream s(NB), t(NB);
    Event f;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    lab(t, "b");
    rec_end(r, "end", s);
    r.k("status", capture_status(s));
    r.k("status_forked", capture_status(t));
    Trace& tr = new_trace();
    r.k("forked_usable", try_hf(t, tr, "x"));
    r.k("origin_usable", try_hf(s, tr, "y"));
    r.k("ran", tr.wait_size(2, kMustHappenMs));
  });
  add("capture.unjoined_no_work", [](Rec& r) {
    Stream s(NB), t(NB);
    Event f;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    rec_end(r, "end_fork_after_a", s);
    r.k("status_forked", capture_status(t));
    begin(s);
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    rec_end(r, "end_fork_at_root", s);
    r.k("status_forked2", capture_status(t));
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    lab(s, "b");
    rec_end(r, "end_fork_then_more", s);
  });
  add("capture.unjoined_tail", [](Rec& r) {
    Stream s(NB), t(NB);
    Event f, j;
    begin(s);
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    lab(t, "b");
    OK(cuEventRecord(j, t));
    lab(t, "after_join_event");
    OK(cuStreamWaitEvent(s, j, 0));
    rec_end(r, "end", s);
  });
  add("capture.recorded_not_waited", [](Rec& r) {
    Stream s(NB), t(NB);
    Event f, j;
    begin(s);
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    lab(t, "b");
    OK(cuEventRecord(j, t));
    rec_end(r, "end", s);
  });
  for (CUstreamCaptureMode m : {GLOBAL, LOCAL, RELAXED})
    add("capture.captured_event_host_calls." + lower(name_of(m)), [m](Rec& r) {
      Stream s(NB);
      Event done(0);
      OK(cuEventRecord(done, s));
      OK(cuStreamSynchronize(s));
      struct {
        const char* n;
        CUresult (*f)(CUevent e, CUevent done);
      } list[] = {
          {"query", [](CUevent e, CUevent) { return cuEventQuery(e); }},
          {"sync", [](CUevent e, CUevent) { return cuEventSynchronize(e); }},
          {"elapsed_end",
           [](CUevent e, CUevent d) {
             float ms;
             return cuEventElapsedTime(&ms, d, e);
           }},
          {"elapsed_start",
           [](CUevent e, CUevent d) {
             float ms;
             return cuEventElapsedTime(&ms, e, d);
           }},
          {"destroy", [](CUevent e, CUevent) { return cuEventDestroy(e); }},
      };
      for (auto& c : list) {
        CUevent e = nullptr;
        OK(cuEventCreate(&e, 0));
        begin(s, m);
        lab(s, "a");
        OK(cuEventRecord(e, s));
        r.k(c.n, c.f(e, done));
        r.k(std::string(c.n) + ".status", capture_status(s));
        rec_end(r, std::string(c.n) + ".end", s);
        if (strcmp(c.n, "destroy") != 0) cuEventDestroy(e);
      }
    });
}

}  // namespace weir::conformance
