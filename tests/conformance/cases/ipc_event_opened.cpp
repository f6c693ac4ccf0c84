// cases/ipc_event_opened.cpp - events of another process, in the process that opened them.
#include "cases/ipc_peers.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

const std::string kMakeEvent = "make_event " + std::to_string(SHARED_EVENT);

// An event that the other process made, opened here in the current context.
class Opened {
 public:
  CUevent e = nullptr;
  explicit Opened(const CUipcEventHandle& h) { OK(cuIpcOpenEventHandle(&e, h)); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() {
    if (e) cuEventDestroy(e);
  }
  operator CUevent() const { return e; }
  CUresult destroy() {
    const CUevent was = e;
    e = nullptr;
    return cuEventDestroy(was);
  }
};

void use_and_end_cases() {
  add("ipc.opened_event_states", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    r.k("unrecorded_query", cuEventQuery(e));
    r.k("unrecorded_sync", cuEventSynchronize(e));
    r.k("unrecorded_wait", cuStreamWaitEvent(s, e, 0));
    r.k("stream", cuStreamSynchronize(s));
    p.must("hold");
    p.must("record_s");
    r.k("pending_query", cuEventQuery(e));
    r.k("pending_wait", cuStreamWaitEvent(s, e, 0));
    Cell c = new_cell();
    mark(s, c);
    r.k("waits", !early(c));
    p.must("open");
    r.k("sync", cuEventSynchronize(e));
    r.k("released", late(c));
    r.k("complete_query", cuEventQuery(e));
    OK(cuStreamSynchronize(s));
    r.k("destroy", e.destroy());
    r.k("exporter_query", p.ask("query"));
    r.k("exporter_record", p.ask("record"));
    r.k("exporter_sync", p.ask("sync"));
  });
  add("ipc.opened_event_sync_blocks", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    p.must("hold");
    p.must("record_s");
    rec_blk(r, "sync", blocking([&] { p.send("open"); }, [&] { return cuEventSynchronize(e); }));
    r.k("opened", p.receive());
    r.k("query", cuEventQuery(e));
  });
  add("ipc.opened_event_twice", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    Opened a(h), b(h);
    r.k("same", a.e == b.e);
    p.must("hold");
    p.must("record_s");
    r.k("a", cuEventQuery(a));
    r.k("b", cuEventQuery(b));
    r.k("destroy_a", a.destroy());
    r.k("b_after", cuEventQuery(b));
    p.must("open");
    r.k("b_sync", cuEventSynchronize(b));
    r.k("destroy_b", b.destroy());
    CUevent again = nullptr;
    r.k("open_again", cuIpcOpenEventHandle(&again, h));
    if (again) r.k("again_query", cuEventQuery(again));
    if (again) r.k("again_destroy", cuEventDestroy(again));
  });
  add("ipc.opened_event_recorded_here", SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    VGate v;
    v.arm(s);
    r.k("record", cuEventRecord(e, s));
    r.k("query", cuEventQuery(e));
    r.k("exporter_pending", p.ask("query"));
    p.must("hold.0");
    p.must("open");
    r.k("exporter_waits", p.ask("wait_s"));
    r.k("exporter_stream", p.ask("idle"));
    v.open();
    r.k("exporter_sync", p.ask("sync"));
    r.k("sync", cuEventSynchronize(e));
    OK(cuStreamSynchronize(s));
    r.k("record_legacy", cuEventRecord(e, nullptr));
    r.k("sync_legacy", cuEventSynchronize(e));
  });
  add("ipc.opened_event_wait_binds", SLOW, [](Rec& r) {
    // a wait for a record of the other process, which records anew before the first is complete
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream s(NB);
    p.must("record");
    p.must("sync");
    r.k("wait_complete", cuStreamWaitEvent(s, e, 0));
    Cell c = new_cell();
    p.must("hold");
    p.must("record_s");
    mark(s, c);
    r.k("bound_to_the_complete_one", late(c));
    p.must("open");
    OK(cuStreamSynchronize(s));
  });
  add("ipc.opened_event_recorded_twice", SLOW, [](Rec& r) {
    // recorded there in a held stream, then here in another: what waits for what?
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    Stream t(NB), u(NB), w(NB);
    p.must("hold");
    p.must("record_s");
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
    r.k("exporter_query", p.ask("query"));
    p.must("open");
    r.k("released", late(recorder) && late(first) && late(second));
    for (CUstream each : {t.s, u.s, w.s}) OK(cuStreamSynchronize(each));
  });
  add("ipc.opened_event_exporter_destroys", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    Opened e(h);
    p.must("record");
    p.must("sync");
    r.k("exporter_destroys", p.ask("destroy"));
    r.k("query", cuEventQuery(e));
    r.k("sync", cuEventSynchronize(e));
    Stream s(NB);
    r.k("wait", cuStreamWaitEvent(s, e, 0));
    r.k("record", cuEventRecord(e, s));
    r.k("stream", cuStreamSynchronize(s));
    r.k("query_after", cuEventQuery(e));
    CUevent late_one = nullptr;
    r.k("open_again", cuIpcOpenEventHandle(&late_one, h));
    if (late_one) cuEventDestroy(late_one);
    r.k("destroy", e.destroy());
  });
  add("ipc.event_opened_after_its_end", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    p.must("destroy");
    CUevent e = nullptr;
    r.k("open", cuIpcOpenEventHandle(&e, h));
    if (e) cuEventDestroy(e);
  });
  add("ipc.event_opened_after_its_process", SLOW, [](Rec& r) {
    Exporter p;
    const auto h = p.handle<CUipcEventHandle>(kMakeEvent);
    p.wait_gone();
    CUevent e = nullptr;
    r.k("open", cuIpcOpenEventHandle(&e, h));
    if (e) cuEventDestroy(e);
  });
  add("ipc.opened_event_outlives_process", ISO | SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    p.must("record");
    p.must("sync");
    p.wait_gone();
    r.k("query", cuEventQuery(e));
    r.k("sync", cuEventSynchronize(e));
    Stream s(NB);
    r.k("wait", cuStreamWaitEvent(s, e, 0));
    r.k("record", cuEventRecord(e, s));
    r.k("stream", cuStreamSynchronize(s));
    r.k("query_after", cuEventQuery(e));
    r.k("destroy", e.destroy());
  });
  add("ipc.opened_event_pending_at_exit", ISO | SLOW, [](Rec& r) {
    Exporter p;
    Opened e(p.handle<CUipcEventHandle>(kMakeEvent));
    p.must("hold");
    p.must("record_s");
    r.k("pending", cuEventQuery(e));
    p.wait_gone();
    r.k("~query", cuEventQuery(e));
    Stream s(NB);
    r.k("record_here", cuEventRecord(e, s));
    r.k("~query_here", cuEventQuery(e));
    r.k("destroy", e.destroy());
  });
}

void refusal_cases() {
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
    r.k("exporter_opens", p.ask("event.1 " + to_hex(&h, sizeof h)));
    Exporter third;
    r.k("third_opens", third.ask("event " + to_hex(&h, sizeof h)));
  });
  add("ipc.opened_event_context", SLOW | TWO, [](Rec& r) {
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
  add("ipc.opened_event_in_two_contexts", ISO | SLOW | TWO, [](Rec& r) {
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
  add("ipc.opened_event_wait_of_other_context", ISO | SLOW | TWO, [](Rec& r) {
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
    r.k("exporter_query", p.ask("query"));
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
    r.k("exporter_query", p.ask("query"));
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

}  // namespace

void ipc_event_opened_cases() {
  use_and_end_cases();
  refusal_cases();
}

}  // namespace weir::conformance
