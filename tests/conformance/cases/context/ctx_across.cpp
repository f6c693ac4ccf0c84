// SPDX-License-Identifier: Apache-2.0
// cases/context/ctx_across.cpp - handles of one context used under another.
#include "probe/probe.hpp"

namespace weir::conformance {

void ctx_across_cases() {
  add("ctx.stream_of_other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    Stream s(NB);
    Event mine;
    Cell c = new_cell();
    {
      Current cur(o);
      Event theirs;
      Trace& t = new_trace();
      r.k("query", cuStreamQuery(s));
      r.k("host_func", try_hf(s, t, "x"));
      r.k("ran", t.wait_size(1, kMustHappenMs));
      r.k("memset", cuMemsetD32Async(c.d, 1, 1, s));
      r.k("memset_done", late(c));
      r.k("record_mine", cuEventRecord(mine, s));
      r.k("record_theirs", cuEventRecord(theirs, s));
      r.k("sync_mine", cuEventSynchronize(mine));
      r.k("query_mine", cuEventQuery(mine));
      OK(cuEventRecord(theirs, nullptr));
      r.k("wait_theirs", cuStreamWaitEvent(s, theirs, 0));
      CUcontext c2 = nullptr;
      r.k("get_ctx", cuStreamGetCtx(s, &c2));
      r.k("ctx_is_primary", c2 == g.ctx);
      unsigned f = 9;
      r.k("get_flags", cuStreamGetFlags(s, &f));
      Graph gr;
      add_empty(gr);
      Exec x(gr);
      r.k("launch", cuGraphLaunch(x, s));
      r.k("sync", cuStreamSynchronize(s));
      CUdeviceptr p = 0;
      CUresult e = r.k("malloc_async", cuMemAllocAsync(&p, 64, s));
      if (e == CUDA_SUCCESS) r.k("free_async", cuMemFreeAsync(p, s));
      r.k("attr", [&] {
        CUstreamAttrValue v{};
        return cuStreamGetAttribute(s, CU_STREAM_ATTRIBUTE_PRIORITY, &v);
      }());
    }
    OK(cuStreamSynchronize(s));
  });

  add("ctx.event_of_other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    CUevent theirs = nullptr;
    CUevent theirs_t = nullptr;
    CUstream ts = nullptr;
    {
      Current cur(o);
      OK(cuEventCreate(&theirs, CU_EVENT_DISABLE_TIMING));
      OK(cuEventCreate(&theirs_t, 0));
      OK(cuStreamCreate(&ts, NB));
      OK(cuEventRecord(theirs_t, ts));
      OK(cuStreamSynchronize(ts));
    }
    Stream s(NB);
    Event mine(0);
    OK(cuEventRecord(mine, s));
    OK(cuEventSynchronize(mine));
    r.k("record_on_my_stream", cuEventRecord(theirs, s));
    r.k("record_on_my_null", cuEventRecord(theirs, nullptr));
    r.k("query", cuEventQuery(theirs));
    r.k("sync", cuEventSynchronize(theirs));
    r.k("wait", cuStreamWaitEvent(s, theirs, 0));
    float ms = 0;
    r.k("elapsed_across", cuEventElapsedTime(&ms, mine, theirs_t));
    r.k("their_stream_my_event", cuEventRecord(mine, ts));
    r.k("destroy_theirs", cuEventDestroy(theirs));
    cuEventDestroy(theirs_t);
    r.k("destroy_their_stream", cuStreamDestroy(ts));
  });

  add("ctx.wait_across_contexts_orders", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    Stream s(NB);
    Cell c = new_cell();
    ValueGate v;
    CUstream ts = nullptr;
    CUevent te = nullptr;
    {
      Current cur(o);
      OK(cuStreamCreate(&ts, NB));
      OK(cuEventCreate(&te, CU_EVENT_DISABLE_TIMING));
      r.k("gate", v.try_arm(ts));
      OK(cuEventRecord(te, ts));
    }
    OK(cuStreamWaitEvent(s, te, 0));
    mark(s, c);
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
    OK(cuStreamSynchronize(s));
    cuStreamDestroy(ts);
    cuEventDestroy(te);
  });

  add("ctx.no_current_with_handles", [](Rec& r) {
    Stream s(NB);
    Event e, ft(0);
    Graph gr;
    add_empty(gr);
    Exec x(gr);
    DevMem m(64);
    OK(cuEventRecord(ft, s));
    OK(cuStreamSynchronize(s));
    on_thread(
        [&] {
          Trace& t = new_trace();
          r.k("query", cuStreamQuery(s));
          r.k("sync", cuStreamSynchronize(s));
          r.k("host_func", try_hf(s, t, "x"));
          r.k("memset", cuMemsetD8Async(g.dbuf, 1, 16, s));
          r.k("memset_sync", cuMemsetD8(g.dbuf, 1, 16));
          r.k("memcpy_async", cuMemcpyAsync(g.dbuf, reinterpret_cast<CUdeviceptr>(g.pin), 16, s));
          r.k("memcpy", cuMemcpy(g.dbuf, reinterpret_cast<CUdeviceptr>(g.pin), 16));
          r.k("record", cuEventRecord(e, s));
          r.k("event_sync", cuEventSynchronize(e));
          r.k("event_query", cuEventQuery(e));
          r.k("wait", cuStreamWaitEvent(s, e, 0));
          float ms;
          r.k("elapsed", cuEventElapsedTime(&ms, ft, ft));
          r.k("launch", cuGraphLaunch(x, s));
          CUcontext c = nullptr;
          r.k("get_ctx", cuStreamGetCtx(s, &c));
          unsigned f;
          r.k("get_flags", cuStreamGetFlags(s, &f));
          unsigned ty;
          r.k("pointer_attr", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, m));
          CUdeviceptr p = 0;
          CUresult ae = r.k("malloc_async", cuMemAllocAsync(&p, 64, s));
          if (ae == CUDA_SUCCESS) r.k("free_async", cuMemFreeAsync(p, s));
          r.k("begin_capture", cuStreamBeginCapture(s, GLOBAL));
          CUgraph cg = nullptr;
          CUresult ee = r.k("end_capture", cuStreamEndCapture(s, &cg));
          if (ee == CUDA_SUCCESS && cg) cuGraphDestroy(cg);
          r.k("mem_free", cuMemFree(m.p));
        },
        false);
    CUdeviceptr base = 0;
    size_t sz = 0;
    if (cuMemGetAddressRange(&base, &sz, m.p) != CUDA_SUCCESS) m.p = 0;
    OK(cuStreamSynchronize(s));
  });

  add("ctx.sync_waits_all_streams", [](Rec& r) {
    Stream a(NB);
    {
      ValueGate v;
      v.arm(a);
      record_blocking(r, "nonblocking_stream",
                      blocking([&] { v.open(); }, [] { return cuCtxSynchronize(); }));
    }
    Stream b(BL);
    {
      ValueGate v;
      v.arm(b);
      record_blocking(r, "blocking_stream",
                      blocking([&] { v.open(); }, [] { return cuCtxSynchronize(); }));
    }
    {
      ValueGate v;
      v.arm(PER_THREAD);
      record_blocking(r, "per_thread",
                      blocking([&] { v.open(); }, [] { return cuCtxSynchronize(); }));
    }
    {
      HostGate h;
      h.arm(a);
      record_blocking(r, "host_func",
                      blocking([&] { h.open(); }, [] { return cuCtxSynchronize(); }));
    }
    r.k("idle", cuCtxSynchronize());
    r.k("v2_null", cuCtxSynchronize_v2(nullptr));
    r.k("v2_ctx", cuCtxSynchronize_v2(g.ctx));
  });

  add("ctx.sync_other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    ValueGate v;
    CUstream ts = nullptr;
    {
      Current cur(o);
      OK(cuStreamCreate(&ts, NB));
      OK(v.try_arm(ts));
    }
    record_blocking(r, "sync_mine", blocking([&] { v.open(); }, [] { return cuCtxSynchronize(); }));
    v.open();
    OK(cuStreamSynchronize(ts));
    ValueGate w;
    {
      Current cur(o);
      OK(w.try_arm(ts));
    }
    record_blocking(r, "sync_theirs_v2",
                    blocking([&] { w.open(); }, [&] { return cuCtxSynchronize_v2(o); }));
    w.open();
    cuStreamDestroy(ts);
  });
}

}  // namespace weir::conformance
