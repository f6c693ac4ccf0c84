// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_streams.cpp - legacy, per-thread, blocking and busy streams during a
// capture.
#include "probe/probe.hpp"

#include <cstring>
#include <functional>

namespace weir::conformance {

void capture_streams_cases() {
  add("capture.legacy_waits_captured_event", [](Rec& r) {
    Stream s(NB);
    Event e;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    r.k("wait_legacy", cuStreamWaitEvent(LEGACY, e, 0));
    r.k("status", capture_status(s));
    r.k("legacy_status", capture_status(LEGACY));
    rec_end(r, "end", s);
  });
  add("capture.per_thread_joins", [](Rec& r) {
    Stream s(NB);
    Event e, j;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    r.k("wait", cuStreamWaitEvent(PER_THREAD, e, 0));
    r.k("status", capture_status(PER_THREAD));
    lab(PER_THREAD, "b");
    on_thread([&] { r.k("other_threads_per_thread", capture_status(PER_THREAD)); });
    OK(cuEventRecord(j, PER_THREAD));
    OK(cuStreamWaitEvent(s, j, 0));
    rec_end(r, "end", s);
    r.k("status_after", capture_status(PER_THREAD));
  });
  add("capture.blocking_stream_joins", [](Rec& r) {
    Stream s(NB), b(BL);
    Event e, j;
    begin(s);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(b, e, 0));
    r.k("legacy_status", capture_status(LEGACY));
    lab(b, "b");
    OK(cuEventRecord(j, b));
    OK(cuStreamWaitEvent(s, j, 0));
    rec_end(r, "end", s);
    r.k("legacy_after", capture_status(LEGACY));
  });
  add("capture.busy_stream", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell(), d = new_cell();
    ValueGate v;
    v.arm(s);
    mark(s, c);
    r.k("begin", cuStreamBeginCapture(s, RELAXED));
    r.k("status", capture_status(s));
    mark(s, d);
    CUgraph gr = nullptr;
    record_blocking(r, "end",
                    blocking([&] { v.open(); }, [&] { return cuStreamEndCapture(s, &gr); }));
    Graph own(gr);
    r.k("graph", describe(gr));
    r.k("earlier_work_early", early(c));
    r.k("query", cuStreamQuery(s));
    v.open();
    r.k("earlier_work_done", late(c));
    r.k("captured_ran", d.get());
  });
  add("capture.earlier_work_runs_during", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    ValueGate v;
    v.arm(s);
    mark(s, c);
    begin(s, RELAXED);
    v.open();
    r.k("runs_while_capturing", late(c));
    rec_end(r, "end", s);
  });
  for (CUstreamCaptureMode m : {GLOBAL, LOCAL, RELAXED})
    add("capture.queries_while_capturing." + lower(name_of(m)), [m](Rec& r) {
      Stream other(NB);
      struct {
        const char* n;
        std::function<CUresult(CUstream)> f;
      } list[] = {
          {"flags",
           [](CUstream s) {
             unsigned f;
             return cuStreamGetFlags(s, &f);
           }},
          {"priority",
           [](CUstream s) {
             int p;
             return cuStreamGetPriority(s, &p);
           }},
          {"id",
           [](CUstream s) {
             unsigned long long id;
             return cuStreamGetId(s, &id);
           }},
          {"ctx",
           [](CUstream s) {
             CUcontext c;
             return cuStreamGetCtx(s, &c);
           }},
          {"ctx_v2",
           [](CUstream s) {
             CUcontext c;
             CUgreenCtx q;
             return cuStreamGetCtx_v2(s, &c, &q);
           }},
          {"device",
           [](CUstream s) {
             CUdevice d;
             return cuStreamGetDevice(s, &d);
           }},
          {"get_attr",
           [](CUstream s) {
             CUstreamAttrValue v;
             memset(&v, 0, sizeof v);
             return cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v);
           }},
          {"set_attr",
           [](CUstream s) {
             CUstreamAttrValue v;
             memset(&v, 0, sizeof v);
             return cuStreamSetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v);
           }},
          {"copy_attr_from", [&](CUstream s) { return cuStreamCopyAttributes(other, s); }},
          {"copy_attr_to", [&](CUstream s) { return cuStreamCopyAttributes(s, other); }},
      };
      for (auto& c : list) {
        Stream s(NB, -1);
        begin(s, m);
        lab(s, "a");
        r.k(c.n, c.f(s));
        r.k(std::string(c.n) + ".status", capture_status(s));
        CUgraph gr = nullptr;
        r.k(std::string(c.n) + ".end", cuStreamEndCapture(s, &gr));
        if (gr) cuGraphDestroy(gr);
      }
    });
  add("capture.self_query", [](Rec& r) {
    Stream s(NB);
    begin(s, RELAXED);
    r.k("query", cuStreamQuery(s));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
    begin(s, RELAXED);
    r.k("sync", cuStreamSynchronize(s));
    r.k("status2", capture_status(s));
    rec_end(r, "end2", s);
  });
  add("capture.forked_query", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e;
    begin(s, RELAXED);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    r.k("query_forked", cuStreamQuery(t));
    r.k("s_status", capture_status(s));
    r.k("t_status", capture_status(t));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
