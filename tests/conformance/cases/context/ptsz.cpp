// SPDX-License-Identifier: Apache-2.0
// cases/context/ptsz.cpp - the entry points whose null stream is the per-thread default stream.
#include "probe/probe.hpp"

namespace weir::conformance {

void ptsz_cases() {
  add("ptsz.exported", [](Rec& r) {
    for (const char* n :
         {"cuStreamQuery_ptsz", "cuStreamSynchronize_ptsz", "cuLaunchHostFunc_ptsz",
          "cuEventRecord_ptsz", "cuMemcpyHtoD_v2_ptds", "cuMemsetD8_v2_ptds",
          "cuMemsetD32Async_ptsz", "cuGraphLaunch_ptsz", "cuStreamBeginCapture_v2_ptsz",
          "cuMemAllocAsync_ptsz", "cuStreamWaitEvent_ptsz", "cuMemcpyAsync_ptsz", "cuMemcpy_ptds",
          "cuStreamGetCaptureInfo_v3_ptsz"})
      r.k(n, exported(n) != nullptr);
  });
  add("ptsz.null_is_per_thread", [](Rec& r) {
    auto query = other_name(cuStreamQuery, "cuStreamQuery_ptsz");
    auto getid = other_name(cuStreamGetId, "cuStreamGetId_ptsz");
    auto sync = other_name(cuStreamSynchronize, "cuStreamSynchronize_ptsz");
    if (!query.p || !getid.p || !sync.p) {
      r.k("missing", true);
      return;
    }
    unsigned long long a = 0, b = 0, c = 0, d = 0;
    r.k("id", getid(nullptr, &a));
    OK(cuStreamGetId(PER_THREAD, &b));
    getid(LEGACY, &c);
    OK(cuStreamGetId(LEGACY, &d));
    r.k("null_is_per_thread", a == b);
    r.k("legacy_is_legacy", c == d);
    ValueGate v;
    v.arm(PER_THREAD);
    r.k("query_null_busy", query(nullptr));
    r.k("query_legacy", query(LEGACY));
    record_blocking(r, "sync_null", blocking([&] { v.open(); }, [&] { return sync(nullptr); }));
  });
  add("ptsz.work_in_null", [](Rec& r) {
    auto set = other_name(cuMemsetD32Async, "cuMemsetD32Async_ptsz");
    auto hfn = other_name(cuLaunchHostFunc, "cuLaunchHostFunc_ptsz");
    if (!set.p || !hfn.p) {
      r.k("missing", true);
      return;
    }
    Cell c = new_cell();
    ValueGate v;
    v.arm(PER_THREAD);
    r.k("memset", set(c.d, 1, 1, nullptr));
    r.k("waits_for_per_thread", !early(c));
    v.open();
    r.k("done", late(c));
    Stream b(BL);
    ValueGate w;
    w.arm(b);
    Cell d = new_cell();
    r.k("memset2", set(d.d, 1, 1, nullptr));
    r.k("runs_beside_blocking", late(d));
    Trace& t = new_trace();
    r.k("hostfunc", hfn(nullptr, label_fn, new_label("x", &t)));
    r.k("host_func_runs_beside_blocking", t.wait_size(1, kMustHappenMs));
    w.open();
    OK(cuCtxSynchronize());
  });
  add("ptsz.sync_memcpy_ptds", [](Rec& r) {
    auto cpy = other_name(cuMemcpyHtoD, "cuMemcpyHtoD_v2_ptds");
    if (!cpy.p) {
      r.k("missing", true);
      return;
    }
    Stream b(BL);
    {
      ValueGate v;
      v.arm(b);
      record_blocking(r, "blocking_busy",
                      blocking([&] { v.open(); }, [&] { return cpy(g.dbuf, g.pin, 64); }));
    }
    {
      ValueGate v;
      v.arm(PER_THREAD);
      record_blocking(r, "per_thread_busy",
                      blocking([&] { v.open(); }, [&] { return cpy(g.dbuf, g.pin, 64); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(r, "legacy_busy",
                      blocking([&] { v.open(); }, [&] { return cpy(g.dbuf, g.pin, 64); }));
    }
  });
  add("ptsz.capture_null", [](Rec& r) {
    auto bc = other_name(cuStreamBeginCapture, "cuStreamBeginCapture_v2_ptsz");
    auto ec = other_name(cuStreamEndCapture, "cuStreamEndCapture_ptsz");
    auto set = other_name(cuMemsetD32Async, "cuMemsetD32Async_ptsz");
    if (!bc.p || !ec.p || !set.p) {
      r.k("missing", true);
      return;
    }
    Cell c = new_cell();
    r.k("begin", bc(nullptr, GLOBAL));
    r.k("per_thread_status", capture_status(PER_THREAD));
    r.k("memset", set(c.d, 1, 1, nullptr));
    CUgraph gr = nullptr;
    r.k("end", ec(nullptr, &gr));
    r.k("graph", describe(gr));
    if (gr) cuGraphDestroy(gr);
    r.k("begin_legacy", bc(LEGACY, GLOBAL));
  });
  add("ptsz.event_record_null", [](Rec& r) {
    auto rec = other_name(cuEventRecord, "cuEventRecord_ptsz");
    auto wait = other_name(cuStreamWaitEvent, "cuStreamWaitEvent_ptsz");
    if (!rec.p || !wait.p) {
      r.k("missing", true);
      return;
    }
    Event e;
    Stream b(BL);
    ValueGate v;
    v.arm(b);
    r.k("record", rec(e, nullptr));
    r.k("not_behind_blocking",
        wait_for([&] { return cuEventQuery(e) == CUDA_SUCCESS; }, kMustHappenMs));
    v.open();
    OK(cuCtxSynchronize());
    ValueGate w;
    w.arm(b);
    OK(cuEventRecord(e, b));
    r.k("wait", wait(nullptr, e, 0));
    Cell c = new_cell();
    mark(PER_THREAD, c);
    r.k("per_thread_waits", !early(c));
    w.open();
    r.k("done", late(c));
    OK(cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
