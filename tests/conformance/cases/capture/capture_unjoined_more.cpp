// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_unjoined_more.cpp - unjoined streams together with joined streams, and with
// streams that need no join.
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

// A capture in s, and operations on streams that join it.
struct Branches {
  Stream s{NB}, t{NB}, u{NB}, v{NB};
  Event e, f, j, k;

  Branches() {
    begin(s);
    lab(s, "a");
  }
  void fork(CUstream from, CUevent by, CUstream to) {
    OK(cuEventRecord(by, from));
    OK(cuStreamWaitEvent(to, by, 0));
  }
  // Makes a stream continue from no node, or from one node.
  void send_on(CUstream of, CUgraphNode to = nullptr) {
    CUgraphNode* const list = to == nullptr ? nullptr : &to;
    OK(cuStreamUpdateCaptureDependencies(of, list, nullptr, list == nullptr ? 0 : 1,
                                         CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  }
  CUgraph graph() const {
    CUgraph into = nullptr;
    CUstreamCaptureStatus status;
    OK(cuStreamGetCaptureInfo(s, &status, nullptr, &into, nullptr, nullptr, nullptr));
    return into;
  }
  // Adds a node behind t's frontier.
  CUgraphNode add_behind_t() const {
    const CUgraphNode* tip = nullptr;
    size_t count = 0;
    CUstreamCaptureStatus status;
    OK(cuStreamGetCaptureInfo(t, &status, nullptr, nullptr, &tip, nullptr, &count));
    return add_empty(graph(), {*tip});
  }
};

void rec(Rec& r, const char* name, void (*act)(Branches&)) {
  Branches b;
  act(b);
  rec_end(r, name, b.s);
}

}  // namespace

void capture_unjoined_more_cases() {
  add("capture.unjoined_beside_idle", [](Rec& r) {
    rec(r, "after", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.s, b.e, b.u);
    });
    rec(r, "after_other_event", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.s, b.f, b.u);
    });
    rec(r, "after_same_record", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      OK(cuStreamWaitEvent(b.u, b.e, 0));
    });
    rec(r, "before", [](Branches& b) {
      b.fork(b.s, b.e, b.u);
      b.fork(b.s, b.f, b.t);
      lab(b.t, "x");
    });
    rec(r, "after_more_work", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      lab(b.s, "b");
      b.fork(b.s, b.f, b.u);
    });
    rec(r, "two_idle", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.s, b.f, b.u);
      b.fork(b.s, b.j, b.v);
    });
    rec(r, "two_at_work", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.s, b.f, b.u);
      lab(b.u, "y");
      b.fork(b.s, b.j, b.v);
    });
  });
  add("capture.unjoined_beside_joined", [](Rec& r) {
    rec(r, "later_joined", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      b.fork(b.s, b.f, b.u);
      lab(b.t, "x");
      lab(b.u, "y");
      b.fork(b.u, b.j, b.s);
    });
    rec(r, "earlier_joined", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      b.fork(b.s, b.f, b.u);
      lab(b.t, "x");
      lab(b.u, "y");
      b.fork(b.t, b.j, b.s);
    });
    rec(r, "idle_joined", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      b.fork(b.s, b.f, b.u);
      lab(b.t, "x");
      b.fork(b.u, b.j, b.s);
    });
    rec(r, "idle_joined_before", [](Branches& b) {
      b.fork(b.s, b.e, b.u);
      b.fork(b.u, b.j, b.s);
      b.fork(b.s, b.f, b.t);
      lab(b.t, "x");
    });
    rec(r, "joined_idle_then_works", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      b.fork(b.t, b.j, b.s);
      lab(b.t, "x");
    });
    rec(r, "joined_then_works", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.t, b.j, b.s);
      lab(b.t, "y");
    });
    rec(r, "joined_idle_then_both_work", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      b.fork(b.t, b.j, b.s);
      lab(b.t, "x");
      lab(b.s, "b");
    });
    rec(r, "joined_idle_and_others", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      b.fork(b.s, b.f, b.u);
      b.fork(b.t, b.j, b.s);
      b.fork(b.u, b.k, b.s);
      lab(b.u, "x");
      lab(b.s, "b");
      OK(cuStreamWaitEvent(b.v, b.k, 0));
    });
  });
  add("capture.unjoined_by_itself", [](Rec& r) {
    rec(r, "waits_before", [](Branches& b) {
      b.fork(b.s, b.e, b.s);
      lab(b.s, "b");
      b.fork(b.s, b.f, b.t);
      lab(b.t, "x");
    });
    rec(r, "waits_after", [](Branches& b) {
      b.fork(b.s, b.f, b.t);
      lab(b.t, "x");
      b.fork(b.s, b.e, b.s);
    });
    rec(r, "waits_and_both_work", [](Branches& b) {
      b.fork(b.s, b.e, b.s);
      lab(b.s, "b");
      b.fork(b.s, b.f, b.t);
      lab(b.s, "c");
      lab(b.t, "x");
    });
    rec(r, "other_waits_for_itself", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.t, b.f, b.t);
    });
    rec(r, "waits_outside", [](Branches& b) {
      OK(cuStreamWaitEvent(b.s, b.k, CU_EVENT_WAIT_EXTERNAL));
      b.fork(b.s, b.f, b.t);
      lab(b.s, "c");
      lab(b.t, "x");
    });
    rec(r, "both_work", [](Branches& b) {
      b.fork(b.s, b.f, b.t);
      lab(b.s, "b");
      lab(b.t, "x");
    });
  });
  add("capture.unjoined_chains", [](Rec& r) {
    rec(r, "through_idle", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.t, b.j, b.u);
    });
    rec(r, "through_working", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.t, b.j, b.u);
      lab(b.u, "y");
    });
    rec(r, "takes_first_in", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.s, b.f, b.t);
    });
    rec(r, "middle_joined", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.t, b.j, b.u);
      lab(b.u, "y");
      b.fork(b.t, b.k, b.s);
    });
    rec(r, "frontier_emptied", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      b.send_on(b.s);
      lab(b.s, "b");
    });
    rec(r, "frontier_emptied_at_work", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.send_on(b.s);
      lab(b.s, "b");
    });
    rec(r, "other_emptied", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.send_on(b.t);
      lab(b.t, "y");
    });
  });
  add("capture.unjoined_but_led_on", [](Rec& r) {
    const auto led_on = [&](const char* name, void (*act)(Branches&)) {
      Branches b;
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      act(b);
      rec_end(r, name, b.s);
    };
    led_on("by_hand", [](Branches& b) { b.add_behind_t(); });
    led_on("by_hand_and_more", [](Branches& b) {
      b.add_behind_t();
      lab(b.t, "y");
    });
    led_on("by_another", [](Branches& b) {
      b.fork(b.t, b.j, b.u);
      lab(b.u, "y");
      b.send_on(b.u);
    });
    led_on("added_to_the_first", [](Branches& b) {
      CUgraphNode added = b.add_behind_t();
      OK(cuStreamUpdateCaptureDependencies(b.s, &added, nullptr, 1,
                                           CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
    });
  });
  add("capture.joined_then_left", [](Rec& r) {
    rec(r, "first_left", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.t, b.j, b.s);
      b.send_on(b.s);
      lab(b.s, "b");
    });
    rec(r, "other_left", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.s, b.f, b.u);
      b.fork(b.t, b.j, b.u);
      b.send_on(b.u);
    });
    rec(r, "worked_again", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      lab(b.t, "x");
      b.fork(b.t, b.j, b.s);
      b.send_on(b.s);
      lab(b.t, "y");
    });
    rec(r, "idle_sent_to_a_tip", [](Branches& b) {
      b.fork(b.s, b.e, b.t);
      b.send_on(b.t, add_empty(b.graph(), {}));
    });
  });
}

}  // namespace weir::conformance
