// SPDX-License-Identifier: Apache-2.0
// cases/context/ctx_destroy.cpp - destroying contexts that hold work and memory; events of whole
// contexts.
#include "probe/probe.hpp"

#include <algorithm>

namespace weir::conformance {

void ctx_destroy_cases() {
  add("ctx.destroy_busy", ISO | SECOND_CONTEXT | SLOW, [](Rec& r) {
    // the time to destroy an idle context
    CUcontext idle = make_context();
    auto t0 = Clock::now();
    OK(cuCtxDestroy(idle));
    int ms = std::min(7000, 1000 + static_cast<int>(3000 * seconds_since(t0)));
    OtherCtx o;
    ValueGate v;
    Cell c = new_cell();
    {
      Current cur(o);
      CUstream ts = nullptr;
      OK(cuStreamCreate(&ts, NB));
      OK(v.try_arm(ts));
      OK(cuMemsetD32Async(c.d, 1, 1, ts));
    }
    record_blocking(r, "destroy", blocking([&] { v.open(); }, [&] { return o.destroy(); }, ms));
    r.k("work_done", early(c));
  });

  add("ctx.destroy_frees_memory", ISO | SECOND_CONTEXT | SLOW, [](Rec& r) {
    OtherCtx o;
    CUdeviceptr p = 0;
    {
      Current cur(o);
      OK(cuMemAlloc(&p, 64));
    }
    unsigned ty = 0;
    CUcontext pc = nullptr;
    r.k("attr_from_primary", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    r.k("attr_ctx", cuPointerGetAttribute(&pc, CU_POINTER_ATTRIBUTE_CONTEXT, p));
    r.k("ctx_is_other", pc == o.c);
    r.k("memset_from_primary", cuMemsetD8(p, 7, 64));
    unsigned char out[4] = {0, 0, 0, 0};
    r.k("copy_from_primary", cuMemcpyDtoH(out, p, 4));
    r.k("value", out[0]);
    r.k("destroy", o.destroy());
    r.k("attr_after", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
  });

  add("ctx.free_from_other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    CUdeviceptr p = 0;
    {
      Current cur(o);
      OK(cuMemAlloc(&p, 64));
    }
    r.k("free", cuMemFree(p));
  });

  add("ctx.record_event", [](Rec& r) {
    Stream a(NB), b(BL);
    Event e;
    ValueGate v, w;
    v.arm(a);
    w.arm(b);
    r.k("record", cuCtxRecordEvent(g.ctx, e));
    r.k("query_both_busy", cuEventQuery(e));
    w.open();
    OK(cuStreamSynchronize(b));
    r.k("query_one_busy", cuEventQuery(e));
    v.open();
    OK(cuStreamSynchronize(a));
    r.k("sync", cuEventSynchronize(e));
    r.k("query_done", cuEventQuery(e));
    r.k("record_null_ctx", cuCtxRecordEvent(nullptr, e));
  });

  add("ctx.record_event_other_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    Event e;
    r.k("mismatch", cuCtxRecordEvent(o, e));
    r.k("wait_other", cuCtxWaitEvent(o, e));
  });

  add("ctx.wait_event", [](Rec& r) {
    Stream a(NB), b(NB), l(BL);
    Event e;
    Cell c1 = new_cell(), c2 = new_cell(), c3 = new_cell();
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, a));
    r.k("wait", cuCtxWaitEvent(g.ctx, e));
    mark(b, c1);
    mark(l, c2);
    mark(nullptr, c3);
    r.k("nonblocking_early", early(c1));
    r.k("blocking_early", early(c2));
    r.k("legacy_early", early(c3));
    v.open();
    r.k("done", late(c1) && late(c2) && late(c3));
    OK(cuCtxSynchronize());
    r.k("null_ctx", cuCtxWaitEvent(nullptr, e));
  });

  add("ctx.wait_event_new_stream", [](Rec& r) {
    Stream a(NB);
    Event e;
    Cell c = new_cell();
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, a));
    r.k("wait", cuCtxWaitEvent(g.ctx, e));
    Stream n(NB);
    mark(n, c);
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
    OK(cuCtxSynchronize());
  });

  add("ctx.errors_do_not_stick", [](Rec& r) {
    // failed calls do not affect the context
    Stream s(NB);
    CUdeviceptr p = 0;
    r.k("alloc_huge", cuMemAlloc(&p, 1ull << 50));
    r.k("memset_null", cuMemsetD8Async(0, 1, 16, s));
    r.k("record_null", cuEventRecord(nullptr, s));
    r.k("bad_flags", cuStreamCreate(reinterpret_cast<CUstream*>(&p), 77));
    r.k("host_func_null", cuLaunchHostFunc(s, nullptr, nullptr));
    r.k("end_capture", [&] {
      CUgraph gr = nullptr;
      return cuStreamEndCapture(s, &gr);
    }());
    Cell c = new_cell();
    r.k("memset", cuMemsetD32Async(c.d, 1, 1, s));
    r.k("query_or_sync", cuStreamSynchronize(s));
    r.k("done", c.get());
    r.k("ctx_sync", cuCtxSynchronize());
  });

  add("ctx.cache_config", [](Rec& r) {
    CUfunc_cache c = CU_FUNC_CACHE_PREFER_L1;
    r.k("get", cuCtxGetCacheConfig(&c));
    r.k("value", static_cast<int>(c));
    r.k("set_bad", cuCtxSetCacheConfig(static_cast<CUfunc_cache>(17)));
  });
}

}  // namespace weir::conformance
