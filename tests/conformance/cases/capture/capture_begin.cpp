// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_begin.cpp - beginning and ending captures: on which stream, and on which
// thread.
#include "probe/probe.hpp"

namespace weir::conformance {

void capture_begin_cases() {
  add("capture.begin_legacy", [](Rec& r) {
    for (CUstreamCaptureMode m : {GLOBAL, LOCAL, RELAXED}) {
      r.k("null." + name_of(m), cuStreamBeginCapture(nullptr, m));
      r.k("legacy." + name_of(m), cuStreamBeginCapture(LEGACY, m));
    }
    r.k("status", capture_status(LEGACY));
  });
  add("capture.begin_per_thread", [](Rec& r) {
    r.k("begin", cuStreamBeginCapture(PER_THREAD, GLOBAL));
    r.k("status", capture_status(PER_THREAD));
    Trace& t = new_trace();
    r.k("op", try_hf(PER_THREAD, t, "a"));
    r.k("legacy_status", capture_status(LEGACY));
    rec_end(r, "end", PER_THREAD);
    r.k("status_after", capture_status(PER_THREAD));
  });
  add("capture.begin_bad_mode", [](Rec& r) {
    Stream s(NB);
    r.k("mode3", cuStreamBeginCapture(s, static_cast<CUstreamCaptureMode>(3)));
    int negative = -1;
    r.k("mode_neg", cuStreamBeginCapture(s, static_cast<CUstreamCaptureMode>(negative)));
    r.k("status", capture_status(s));
  });
  add("capture.begin_bad_mode_order", [](Rec& r) {
    // an unknown mode, where no capture can begin
    Stream s(NB);
    r.k("legacy", cuStreamBeginCapture(LEGACY, static_cast<CUstreamCaptureMode>(3)));
    begin(s, RELAXED);
    r.k("capturing", cuStreamBeginCapture(s, static_cast<CUstreamCaptureMode>(3)));
    cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) {}, nullptr, 0);
    r.k("broken", cuStreamBeginCapture(s, static_cast<CUstreamCaptureMode>(3)));
    rec_end(r, "end", s);
  });
  add("capture.begin_legacy_beside", [](Rec& r) {
    // beginning in the legacy stream while a blocking stream captures: which error comes first, and
    // whether it invalidates the capture
    const auto ask = [&](const std::string& name, CUstreamCaptureMode inside, CUstream stream,
                         int mode) {
      Stream b(BL);
      begin(b, inside);
      lab(b, "a");
      r.k(name, cuStreamBeginCapture(stream, static_cast<CUstreamCaptureMode>(mode)));
      r.k(name + ".status", capture_status(b));
      rec_end(r, name + ".end", b);
    };
    ask("bad_mode", RELAXED, LEGACY, 3);
    ask("bad_mode_null", LOCAL, nullptr, 3);
    ask("mode", RELAXED, LEGACY, RELAXED);
    ask("mode_null", LOCAL, nullptr, GLOBAL);
  });
  add("capture.begin_twice", [](Rec& r) {
    Stream s(NB);
    r.k("first", cuStreamBeginCapture(s, GLOBAL));
    lab(s, "a");
    r.k("second", cuStreamBeginCapture(s, GLOBAL));
    r.k("second_relaxed", cuStreamBeginCapture(s, RELAXED));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.begin_on_forked", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e, f;
    begin(s);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    r.k("begin_forked", cuStreamBeginCapture(t, GLOBAL));
    r.k("status", capture_status(s));
    r.k("status_forked", capture_status(t));
    r.k("join_record", cuEventRecord(f, t));
    r.k("join_wait", cuStreamWaitEvent(s, f, 0));
    rec_end(r, "end", s);
  });
  add("capture.end_without_begin", [](Rec& r) {
    Stream s(NB), b(BL);
    rec_end(r, "nonblocking", s);
    rec_end(r, "blocking", b);
    rec_end(r, "null", nullptr);
    rec_end(r, "per_thread", PER_THREAD);
  });
  add("capture.end_null_out", [](Rec& r) {
    Stream s(NB);
    begin(s);
    lab(s, "a");
    r.k("end_null", cuStreamEndCapture(s, nullptr));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.end_on_unrelated", [](Rec& r) {
    Stream s(NB), t(NB);
    begin(s);
    lab(s, "a");
    rec_end(r, "unrelated", t);
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.end_on_forked", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    lab(t, "b");
    rec_end(r, "forked", t);
    r.k("status", capture_status(s));
    r.k("status_forked", capture_status(t));
    rec_end(r, "end", s);
    r.k("status_after", capture_status(s));
    r.k("status_forked_after", capture_status(t));
  });
  for (CUstreamCaptureMode m : {GLOBAL, LOCAL, RELAXED}) {
    add("capture.end_other_thread." + lower(name_of(m)), [m](Rec& r) {
      Stream s(NB);
      begin(s, m);
      lab(s, "a");
      on_thread([&] { rec_end(r, "other", s); });
      r.k("status", capture_status(s));
      rec_end(r, "own", s);
      r.k("status_after", capture_status(s));
    });
    add("capture.ops_from_other_thread." + lower(name_of(m)), [m](Rec& r) {
      Stream s(NB);
      begin(s, m);
      lab(s, "a");
      on_thread([&] {
        Trace& t = new_trace();
        r.k("op", try_hf(s, t, "b"));
        r.k("status_seen", capture_status(s));
      });
      lab(s, "c");
      rec_end(r, "end", s);
    });
  }
  add("capture.begin_in_other_thread", [](Rec& r) {
    Stream s(NB);
    on_thread([&] { r.k("begin", cuStreamBeginCapture(s, RELAXED)); });
    lab(s, "a");
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.begin_in_ended_thread_global", [](Rec& r) {
    // The thread that began the capture has ended.
    Stream s(NB);
    on_thread([&] { r.k("begin", cuStreamBeginCapture(s, GLOBAL)); });
    Trace& t = new_trace();
    r.k("op", try_hf(s, t, "a"));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
    r.k("status_after", capture_status(s));
  });
  add("capture.per_thread_of_ended_thread", ISO, [](Rec& r) {
    // no thread can end this capture any more
    on_thread([&] {
      r.k("begin", cuStreamBeginCapture(PER_THREAD, GLOBAL));
      r.k("op", cuLaunchHostFunc(PER_THREAD, label_fn, new_label("a")));
      r.k("status_there", capture_status(PER_THREAD));
    });
    r.k("status_here", capture_status(PER_THREAD));
    r.k("legacy_status", capture_status(LEGACY));
    r.k("event_query", cuEventQuery(g.unrecorded));
    CUdeviceptr p = 0;
    r.k("mem_alloc", cuMemAlloc(&p, 64));
    r.k("ctx_sync", cuCtxSynchronize());
    on_thread([&] { r.k("status_new_thread", capture_status(PER_THREAD)); });
  });
}

}  // namespace weir::conformance
