// SPDX-License-Identifier: Apache-2.0
// cases/ipc/ipc_event.cpp - interprocess events, in the process that created them.
#include "cases/ipc/ipc_peers.hpp"

#include <cstring>

namespace weir::conformance {

void ipc_event_cases() {
  add("ipc.event_handle_states", [](Rec& r) {
    Stream s(NB);
    Event e(SHARED_EVENT);
    CUipcEventHandle first, h;
    memset(&first, 0, sizeof first);
    memset(&h, 0, sizeof h);
    r.k("unrecorded", cuIpcGetEventHandle(&first, e));
    r.k("again", cuIpcGetEventHandle(&h, e));
    r.k("again_same", memcmp(&first, &h, sizeof h) == 0);
    ValueGate v;
    v.arm(s);
    OK(cuEventRecord(e, s));
    r.k("pending", cuIpcGetEventHandle(&h, e));
    r.k("pending_same", memcmp(&first, &h, sizeof h) == 0);
    v.open();
    OK(cuEventSynchronize(e));
    r.k("complete", cuIpcGetEventHandle(&h, e));
    Event other(SHARED_EVENT);
    r.k("other", cuIpcGetEventHandle(&h, other));
    r.k("other_differs", memcmp(&first, &h, sizeof h) != 0);
  });
  add("ipc.event_handle_arguments", [](Rec& r) {
    Event shared(SHARED_EVENT), plain;
    CUipcEventHandle h;
    r.k("no_handle", cuIpcGetEventHandle(nullptr, shared));
    r.k("no_event", cuIpcGetEventHandle(&h, nullptr));
    r.k("no_handle_plain_event", cuIpcGetEventHandle(nullptr, plain));
  });
  add("ipc.event_handle_context", [](Rec& r) {
    Event shared(SHARED_EVENT);
    CUipcEventHandle h;
    on_thread(
        [&] {
          r.k("none_current_no_event", cuIpcGetEventHandle(&h, nullptr));
          r.k("none_current_no_handle", cuIpcGetEventHandle(nullptr, shared));
          r.k("none_current", cuIpcGetEventHandle(&h, shared));
        },
        false);
  });
  add("ipc.event_handle_in_other_context", ISO | SECOND_CONTEXT, [](Rec& r) {
    OtherCtx other;
    Event shared(SHARED_EVENT);
    CUipcEventHandle h;
    Current c(other);
    r.k("get", cuIpcGetEventHandle(&h, shared));
  });
  add("ipc.event_open_arguments", [](Rec& r) {
    Event shared(SHARED_EVENT);
    CUipcEventHandle own, h;
    OK(cuIpcGetEventHandle(&own, shared));
    CUevent e = nullptr;
    r.k("no_event", cuIpcOpenEventHandle(nullptr, own));
    memset(&h, 0x5a, sizeof h);
    r.k("no_event_garbage", cuIpcOpenEventHandle(nullptr, h));
    memset(&h, 0, sizeof h);
    r.k("zeros", cuIpcOpenEventHandle(&e, h));
    memset(&h, 0xff, sizeof h);
    r.k("ones", cuIpcOpenEventHandle(&e, h));
    r.k("own_twice", cuIpcOpenEventHandle(&e, own));
    r.k("untouched", e == nullptr);
    on_thread(
        [&] {
          r.k("no_context_own", cuIpcOpenEventHandle(&e, own));
          r.k("no_context_garbage", cuIpcOpenEventHandle(&e, h));
          r.k("no_context_no_event", cuIpcOpenEventHandle(nullptr, own));
        },
        false);
  });
  add("ipc.event_open_own_in_other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx other;
    Event shared(SHARED_EVENT);
    CUipcEventHandle h;
    OK(cuIpcGetEventHandle(&h, shared));
    Current c(other);
    CUevent e = nullptr;
    r.k("open", cuIpcOpenEventHandle(&e, h));
    if (e) r.k("destroy", cuEventDestroy(e));
  });
  add("ipc.event_used_at_home", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e(SHARED_EVENT);
    r.k("unrecorded_query", cuEventQuery(e));
    r.k("unrecorded_sync", cuEventSynchronize(e));
    ValueGate v;
    v.arm(s);
    r.k("record", cuEventRecord(e, s));
    r.k("pending", cuEventQuery(e));
    r.k("wait", cuStreamWaitEvent(t, e, 0));
    Cell c = new_cell();
    mark(t, c);
    r.k("waits", !early(c));
    v.open();
    r.k("released", late(c));
    r.k("complete", cuEventQuery(e));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(t));
  });
  add("ipc.event_recorded_twice", [](Rec& r) {
    // a second record in another stream, while the first is pending: which streams wait
    Stream s(NB), t(NB), u(NB), w(NB);
    Event e(SHARED_EVENT);
    ValueGate v;
    v.arm(s);
    OK(cuEventRecord(e, s));
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
    v.open();
    r.k("released", late(recorder) && late(first) && late(second));
    for (CUstream each : {s.s, t.s, u.s, w.s}) OK(cuStreamSynchronize(each));
  });
  add("ipc.event_recorded_twice_in_one", [](Rec& r) {
    Stream s(NB), u(NB);
    Event e(SHARED_EVENT);
    ValueGate v, behind;
    v.arm(s);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(u, e, 0));
    Cell first = new_cell();
    mark(u, first);
    behind.arm(s);
    OK(cuEventRecord(e, s));
    v.open();
    r.k("first_wait_released", late(first));
    r.k("query", cuEventQuery(e));
    behind.open();
    OK(cuStreamSynchronize(s));
    r.k("query_after", cuEventQuery(e));
  });
  add("ipc.event_destroyed_while_pending", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e(SHARED_EVENT);
    ValueGate v;
    v.arm(s);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    Cell c = new_cell();
    mark(t, c);
    record_blocking(r, "destroy", blocking([&] { v.open(); }, [&] { return e.destroy(); }));
    r.k("waits", !early(c));
    v.open();
    r.k("released", late(c));
    OK(cuStreamSynchronize(s));
  });
  add("ipc.event_elapsed", [](Rec& r) {
    Stream s(NB);
    Event a(SHARED_EVENT), b(SHARED_EVENT), timed(CU_EVENT_DEFAULT);
    float ms = 0;
    r.k("unrecorded", cuEventElapsedTime(&ms, a, b));
    OK(cuEventRecord(a, s));
    OK(cuEventRecord(b, s));
    OK(cuEventRecord(timed, s));
    OK(cuStreamSynchronize(s));
    r.k("both", cuEventElapsedTime(&ms, a, b));
    r.k("same", cuEventElapsedTime(&ms, a, a));
    r.k("to_timed", cuEventElapsedTime(&ms, a, timed));
    r.k("from_timed", cuEventElapsedTime(&ms, timed, a));
  });
  add("ipc.event_recorded_in_capture", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e(SHARED_EVENT);
    begin(s);
    lab(s, "a");
    r.k("record", cuEventRecord(e, s));
    r.k("status", capture_status(s));
    r.k("fork", cuStreamWaitEvent(t, e, 0));
    lab(t, "b");
    r.k("join_record", cuEventRecord(e, t));
    r.k("join", cuStreamWaitEvent(s, e, 0));
    rec_end_and_instantiate(r, "end", s);
    CUipcEventHandle h;
    r.k("handle_of_captured", cuIpcGetEventHandle(&h, e));
  });
  add("ipc.event_external_in_capture", [](Rec& r) {
    Stream s(NB);
    Event e(SHARED_EVENT);
    begin(s);
    lab(s, "a");
    r.k("record", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("wait", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    r.k("status", capture_status(s));
    rec_end_and_instantiate(r, "end", s);
  });
  add("ipc.event_waited_in_capture", [](Rec& r) {
    Stream s(NB);
    Event e(SHARED_EVENT);
    begin(s);
    lab(s, "a");
    r.k("unrecorded", cuStreamWaitEvent(s, e, 0));
    r.k("unrecorded_status", capture_status(s));
    rec_end(r, "unrecorded_end", s);
    OK(cuEventRecord(e, s));
    OK(cuStreamSynchronize(s));
    begin(s);
    lab(s, "a");
    r.k("complete", cuStreamWaitEvent(s, e, 0));
    r.k("complete_status", capture_status(s));
    rec_end(r, "complete_end", s);
  });
  add("ipc.event_nodes", [](Rec& r) {
    Stream s(NB);
    Event e(SHARED_EVENT);
    Graph gr;
    CUgraphNode record = nullptr, wait = nullptr;
    r.k("record", cuGraphAddEventRecordNode(&record, gr, nullptr, 0, e));
    r.k("wait", cuGraphAddEventWaitNode(&wait, gr, nullptr, 0, e));
    CUgraphExec exec = nullptr;
    r.k("instantiate", cuGraphInstantiate(&exec, gr, 0));
    if (!exec) return;
    r.k("launch", cuGraphLaunch(exec, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("query", cuEventQuery(e));
    cuGraphExecDestroy(exec);
  });
  add("ipc.event_handle_while_capturing", [](Rec& r) {
    Stream s(NB);
    Event e(SHARED_EVENT);
    CUipcEventHandle h;
    memset(&h, 0x5a, sizeof h);
    CUevent f = nullptr;
    begin(s);
    lab(s, "a");
    r.k("open_garbage", cuIpcOpenEventHandle(&f, h));
    r.k("status", capture_status(s));
    OK(cuIpcGetEventHandle(&h, e));
    r.k("open_own", cuIpcOpenEventHandle(&f, h));
    r.k("status_after", capture_status(s));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
