// SPDX-License-Identifier: Apache-2.0
// cases/ipc/ipc_event_refused.cpp - invalid uses of another process's events: flags, handles,
// contexts, captures and graphs.
#include "cases/ipc/opened_event.hpp"

#include <cstring>

namespace weir::conformance {

void ipc_event_refused_cases() {
  add("ipc.opened_event_flags", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Opened blocking_one(p.handle<CUipcEventHandle>("make_event.1 7"));
    Stream s(NB);
    r.k("record_external", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("record_unknown", cuEventRecordWithFlags(e, s, 2));
    r.k("wait_external", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    r.k("wait_unknown", cuStreamWaitEvent(s, e, 2));
    p.must("record.1");
    r.k("blocking_sync", cuEventSynchronize(blocking_one));
  });
  add("ipc.opened_event_elapsed", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    Event timed(CU_EVENT_DEFAULT);
    OK(cuEventRecord(timed, s));
    OK(cuEventRecord(e, s));
    OK(cuStreamSynchronize(s));
    float ms = 0;
    r.k("same", cuEventElapsedTime(&ms, e, e));
    r.k("from_timed", cuEventElapsedTime(&ms, timed, e));
    r.k("to_timed", cuEventElapsedTime(&ms, e, timed));
  });
  add("ipc.opened_event_handle", SLOW, [](Rec& r) {
    Exporter p;
    const auto first = p.handle<CUipcEventHandle>(kMakeEvent);
    Opened e(first);
    CUipcEventHandle h;
    memset(&h, 0, sizeof h);
    if (r.k("get", cuIpcGetEventHandle(&h, e)) != CUDA_SUCCESS) return;
    r.k("same", memcmp(&h, &first, sizeof h) == 0);
    r.k("exporter_opens", p.request("event.1 " + to_hex(&h, sizeof h)));
    Exporter third;
    r.k("third_opens", third.request("event " + to_hex(&h, sizeof h)));
  });
  add("ipc.opened_event_context", SLOW | SECOND_CONTEXT, [](Rec& r) {
    OtherCtx other;
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    Stream s(NB);
    CUevent e = nullptr;
    {
      Current c(other);
      OK(cuIpcOpenEventHandle(&e, h));
    }
    r.k("record_on_stream_of_another", cuEventRecord(e, s));
    r.k("query", cuEventQuery(e));
    on_thread(
        [&] {
          CUevent f = nullptr;
          r.k("open_without_context", cuIpcOpenEventHandle(&f, h));
        },
        false);
    r.k("destroy", cuEventDestroy(e));
  });
  add("ipc.opened_event_in_two_contexts", ISO | SLOW | SECOND_CONTEXT, [](Rec& r) {
    OtherCtx other;
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    Stream s(NB);
    Opened first(h);
    CUevent second = nullptr;
    {
      Current c(other);
      r.k("open_in_second_context", cuIpcOpenEventHandle(&second, h));
    }
    r.k("record_by_first", cuEventRecord(first, s));
    OK(cuStreamSynchronize(s));
    if (second) r.k("query_by_second", cuEventQuery(second));
    if (second) r.k("destroy_second", cuEventDestroy(second));
  });
  add("ipc.opened_event_wait_of_other_context", ISO | SLOW | SECOND_CONTEXT, [](Rec& r) {
    OtherCtx other;
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Current c(other);
    Stream s(NB);
    r.k("wait", cuStreamWaitEvent(s, e, 0));
    OK(cuStreamSynchronize(s));
  });
  add("ipc.opened_event_captured", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    begin(s);
    lab(s, "a");
    r.k("wait_unrecorded", cuStreamWaitEvent(s, e, 0));
    r.k("wait_unrecorded_status", capture_status(s));
    rec_end(r, "wait_unrecorded_end", s);
    p.must("record");
    p.must("sync");
    begin(s);
    lab(s, "a");
    r.k("wait_recorded", cuStreamWaitEvent(s, e, 0));
    r.k("wait_recorded_status", capture_status(s));
    rec_end(r, "wait_recorded_end", s);
    begin(s);
    lab(s, "a");
    r.k("query", cuEventQuery(e));
    r.k("query_status", capture_status(s));
    rec_end(r, "query_end", s);
  });
  add("ipc.opened_event_recorded_in_capture", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    begin(s);
    lab(s, "a");
    r.k("record", cuEventRecord(e, s));
    r.k("status", capture_status(s));
    rec_end_and_instantiate(r, "end", s);
    r.k("query", cuEventQuery(e));
    r.k("exporter_query", p.request("query"));
    begin(s);
    lab(s, "a");
    r.k("record_external", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("wait_external", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    rec_end_and_instantiate(r, "external_end", s);
  });
  add("ipc.opened_event_nodes", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    Graph gr;
    CUgraphNode record = nullptr, wait = nullptr;
    r.k("record", cuGraphAddEventRecordNode(&record, gr, nullptr, 0, e));
    r.k("wait", cuGraphAddEventWaitNode(&wait, gr, nullptr, 0, e));
    CUgraphExec exec = nullptr;
    r.k("instantiate", cuGraphInstantiate(&exec, gr, 0));
    if (!exec) return;
    r.k("launch", cuGraphLaunch(exec, s));
    r.k("stream", cuStreamSynchronize(s));
    r.k("exporter_query", p.request("query"));
    cuGraphExecDestroy(exec);
  });
  add("ipc.event_opened_in_capture", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    Stream s(NB);
    CUevent e = nullptr;
    begin(s);
    lab(s, "a");
    r.k("open", cuIpcOpenEventHandle(&e, h));
    r.k("status", capture_status(s));
    if (e) r.k("destroy", cuEventDestroy(e));
    r.k("status_after", capture_status(s));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
