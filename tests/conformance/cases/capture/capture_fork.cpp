// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_fork.cpp - forks and joins.
#include "probe/probe.hpp"

namespace weir::conformance {

void capture_fork_cases() {
  add("capture.fork_join", [](Rec& r) {
    Stream s(NB), t(NB);
    Event f, j;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    lab(t, "b");
    lab(s, "c");
    OK(cuEventRecord(j, t));
    OK(cuStreamWaitEvent(s, j, 0));
    lab(s, "d");
    r.k("forked_status", capture_status(t));
    rec_end(r, "end", s);
    r.k("forked_after", capture_status(t));
    Trace& tr = new_trace();
    r.k("forked_usable", try_hf(t, tr, "x"));
    r.k("ran", tr.wait_size(1, kMustHappenMs));
  });
  add("capture.fork_from_root", [](Rec& r) {
    Stream s(NB), t(NB);
    Event f, j;
    begin(s);
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    r.k("forked_status", capture_status(t));
    r.k("forked_deps", capture_deps(t));
    lab(t, "b");
    lab(s, "a");
    OK(cuEventRecord(j, t));
    OK(cuStreamWaitEvent(s, j, 0));
    rec_end(r, "end", s);
  });
  add("capture.three_way", [](Rec& r) {
    Stream s(NB), t(NB), u(BL);
    Event f, j, k;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    OK(cuStreamWaitEvent(u, f, 0));
    lab(t, "b");
    lab(u, "c");
    lab(s, "d");
    OK(cuEventRecord(j, t));
    OK(cuEventRecord(k, u));
    OK(cuStreamWaitEvent(s, j, 0));
    OK(cuStreamWaitEvent(s, k, 0));
    r.k("deps", capture_dep_labels(s));
    lab(s, "e");
    rec_end(r, "end", s);
  });
  add("capture.cross_links", [](Rec& r) {
    // a chain through both streams and back, several times
    Stream s(NB), t(NB);
    Event e;
    begin(s);
    lab(s, "s0");
    for (int i = 0; i < 2; i++) {
      OK(cuEventRecord(e, s));
      OK(cuStreamWaitEvent(t, e, 0));
      lab(t, "t" + std::to_string(i));
      OK(cuEventRecord(e, t));
      OK(cuStreamWaitEvent(s, e, 0));
      lab(s, "s" + std::to_string(i + 1));
    }
    rec_end(r, "end", s);
  });
  add("capture.nested_fork", [](Rec& r) {
    Stream s(NB), t(NB), u(NB);
    Event e, f, j;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    lab(t, "b");
    OK(cuEventRecord(f, t));
    OK(cuStreamWaitEvent(u, f, 0));
    lab(u, "c");
    OK(cuEventRecord(j, u));
    OK(cuStreamWaitEvent(s, j, 0));
    lab(s, "d");
    rec_end(r, "end", s);
  });
  add("capture.join_through_middle", [](Rec& r) {
    // u is joined into t, t into s: nothing is left unjoined
    Stream s(NB), t(NB), u(NB);
    Event e, f, j, k;
    begin(s);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    OK(cuStreamWaitEvent(u, e, 0));
    lab(u, "c");
    OK(cuEventRecord(j, u));
    OK(cuStreamWaitEvent(t, j, 0));
    lab(t, "b");
    OK(cuEventRecord(k, t));
    OK(cuStreamWaitEvent(s, k, 0));
    rec_end(r, "end", s);
  });
  add("capture.wait_same_event_twice", [](Rec& r) {
    Stream s(NB), t(NB);
    Event f, j;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    OK(cuStreamWaitEvent(t, f, 0));
    r.k("t_deps", capture_dep_labels(t));
    lab(t, "b");
    OK(cuEventRecord(j, t));
    OK(cuStreamWaitEvent(s, j, 0));
    OK(cuStreamWaitEvent(s, j, 0));
    r.k("s_deps", capture_dep_labels(s));
    rec_end(r, "end", s);
  });
  add("capture.wait_own_event", [](Rec& r) {
    Stream s(NB);
    Event f;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    r.k("wait_head", cuStreamWaitEvent(s, f, 0));
    r.k("deps_head", capture_dep_labels(s));
    lab(s, "b");
    r.k("wait_ancestor", cuStreamWaitEvent(s, f, 0));
    r.k("deps_ancestor", capture_dep_labels(s));
    lab(s, "c");
    rec_end(r, "end", s);
  });
  add("capture.wait_ancestor_from_fork", [](Rec& r) {
    Stream s(NB), t(NB);
    Event f, j, k;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    lab(t, "b");
    OK(cuEventRecord(j, t));
    lab(t, "c");
    OK(cuEventRecord(k, t));
    OK(cuStreamWaitEvent(s, k, 0));
    OK(cuStreamWaitEvent(s, j, 0));
    r.k("deps", capture_dep_labels(s));
    lab(s, "d");
    rec_end(r, "end", s);
  });
  add("capture.event_rerecorded", [](Rec& r) {
    Stream s(NB), t(NB);
    Event f, j;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    lab(s, "b");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    lab(t, "c");
    OK(cuEventRecord(j, t));
    OK(cuStreamWaitEvent(s, j, 0));
    rec_end(r, "end", s);
  });
  add("capture.event_destroyed", [](Rec& r) {
    Stream s(NB), t(NB);
    Event j;
    CUevent f = nullptr;
    OK(cuEventCreate(&f, CU_EVENT_DISABLE_TIMING));
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(f, s));
    OK(cuStreamWaitEvent(t, f, 0));
    r.k("destroy", cuEventDestroy(f));
    r.k("status", capture_status(s));
    lab(t, "b");
    OK(cuEventRecord(j, t));
    OK(cuStreamWaitEvent(s, j, 0));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
