// SPDX-License-Identifier: Apache-2.0
// cases/context/green_capture.cpp - captures in streams of green contexts, with queries and changes
// in between.
#include "cases/context/greens.hpp"

namespace weir::conformance {

void green_capture_cases() {
  add("green.graph", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Stream t(NB);
    begin(s);
    const Cell cell = new_cell();
    r.k("memset", cuMemsetD32Async(cell.d, 5, 1, s));
    lab(s, "a");
    r.k("status", capture_status(s));
    CUgraph captured = nullptr;
    r.k("end", cuStreamEndCapture(s, &captured));
    Graph graph(captured);
    r.k("graph", describe(graph));
    Exec x(graph);
    r.k("launch_in_green", cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("value", cell.get());
    cell.set(0);
    r.k("launch_in_primary", cuGraphLaunch(x, t));
    OK(cuStreamSynchronize(t));
    r.k("value2", cell.get());
    begin(t);
    OK(cuMemsetD32Async(cell.d, 6, 1, t));
    Graph other(end_ok(t));
    Exec y(other);
    r.k("primary_graph_in_green", cuGraphLaunch(y, s));
    OK(cuStreamSynchronize(s));
    r.k("value3", cell.get());
  });

  add("green.capture_with_primary", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Stream t(NB);
    Event fork, join;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(fork, s));
    r.k("wait_in_primary", cuStreamWaitEvent(t, fork, 0));
    r.k("status_primary", capture_status(t));
    Trace& trace = new_trace();
    r.k("work_in_primary", try_hf(t, trace, "b"));
    r.k("record", cuEventRecord(join, t));
    r.k("join", cuStreamWaitEvent(s, join, 0));
    rec_end(r, "end", s);
  });

  add("green.capture_and_context_events", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Stream t(NB);
    Event e, f;
    begin(s);
    lab(s, "a");
    r.k("record", cuGreenCtxRecordEvent(c, e));
    r.k("record.status", capture_status(s));
    rec_end(r, "record.end", s);
    begin(s, RELAXED);
    lab(s, "a");
    r.k("wait", cuGreenCtxWaitEvent(c, f));
    r.k("wait.status", capture_status(s));
    rec_end(r, "wait.end", s);
    begin(t);
    lab(t, "a");
    r.k("record_primary_captures", cuGreenCtxRecordEvent(c, e));
    r.k("record_primary_captures.status", capture_status(t));
    rec_end(r, "record_primary_captures.end", t);
    begin(s);
    lab(s, "a");
    r.k("primary_record_green_captures", cuCtxRecordEvent(g.ctx, e));
    r.k("primary_record_green_captures.status", capture_status(s));
    rec_end(r, "primary_record_green_captures.end", s);
    begin(s);
    lab(s, "a");
    r.k("primary_sync_green_captures", cuCtxSynchronize());
    r.k("primary_sync_green_captures.status", capture_status(s));
    rec_end(r, "primary_sync_green_captures.end", s);
  });

  add("green.questions_while_capturing", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    const auto during = [&](const char* key, const std::function<CUresult()>& call) {
      begin(s);
      lab(s, "a");
      r.k(key, call());
      r.k(std::string(key) + ".status", capture_status(s));
      rec_end(r, std::string(key) + ".end", s);
    };
    CUgreenCtx green = nullptr;
    CUcontext ctx = nullptr;
    CUdevResource part{};
    unsigned long long id = 0;
    during("get_green", [&] { return cuStreamGetGreenCtx(s, &green); });
    during("get_ctx", [&] { return cuStreamGetCtx(s, &ctx); });
    during("get_ctx_v2", [&] { return cuStreamGetCtx_v2(s, &ctx, &green); });
    during("resource", [&] { return cuGreenCtxGetDevResource(c, &part, CU_DEV_RESOURCE_TYPE_SM); });
    during("device_resource",
           [&] { return cuDeviceGetDevResource(g.dev, &part, CU_DEV_RESOURCE_TYPE_SM); });
    during("id", [&] { return cuGreenCtxGetId(c, &id); });
    during("context", [&] { return cuCtxFromGreenCtx(&ctx, c); });
    during("split", [&] {
      unsigned n = 1;
      const CUdevResource all = all_sms();
      return cuDevSmResourceSplitByCount(&part, &n, &all, nullptr, 0, 16);
    });
  });
  add("green.changes_while_capturing", SLOW, [](Rec& r) {
    const CUdevResourceDesc desc = desc_of(sms());
    Green c, doomed;
    Stream t(NB);
    const auto during = [&](const char* key, const std::function<CUresult()>& call) {
      begin(t);
      lab(t, "a");
      r.k(key, call());
      r.k(std::string(key) + ".status", capture_status(t));
      rec_end(r, std::string(key) + ".end", t);
    };
    CUgreenCtx made = nullptr;
    CUstream s = nullptr;
    during("desc", [&] {
      CUdevResourceDesc d = nullptr;
      CUdevResource all = all_sms();
      return cuDevResourceGenerateDesc(&d, &all, 1);
    });
    during("create", [&] { return cuGreenCtxCreate(&made, desc, g.dev, kDefaultStream); });
    if (made) cuGreenCtxDestroy(made);
    during("stream", [&] { return cuGreenCtxStreamCreate(&s, c, NB, 0); });
    if (s) cuStreamDestroy(s);
    during("set_current", [&] {
      const CUresult e = cuCtxSetCurrent(c.context());
      cuCtxSetCurrent(g.ctx);
      return e;
    });
    during("destroy", [&] { return doomed.destroy(); });
  });
}

}  // namespace weir::conformance
