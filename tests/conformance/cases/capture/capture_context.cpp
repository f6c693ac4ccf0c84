// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_context.cpp - contexts and thread modes.
#include "probe/probe.hpp"

namespace weir::conformance {

void capture_context_cases() {
  add("capture.ctx_record_and_wait", [](Rec& r) {
    Stream s(NB);
    Event e, c;
    begin(s);
    lab(s, "a");
    r.k("ctx_record", cuCtxRecordEvent(g.ctx, e));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
    begin(s);
    lab(s, "a");
    r.k("ctx_wait", cuCtxWaitEvent(g.ctx, e));
    r.k("status2", capture_status(s));
    rec_end(r, "end2", s);
    begin(s, RELAXED);
    r.k("ctx_record_relaxed", cuCtxRecordEvent(g.ctx, e));
    r.k("status3", capture_status(s));
    rec_end(r, "end3", s);
  });
  add("capture.other_context_stream", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    CUstream t = nullptr;
    CUevent j = nullptr;
    {
      Current cur(o);
      OK(cuStreamCreate(&t, NB));
      OK(cuEventCreate(&j, CU_EVENT_DISABLE_TIMING));
    }
    {
      Stream s(NB);
      Event e;
      begin(s);
      lab(s, "a");
      OK(cuEventRecord(e, s));
      r.k("wait", cuStreamWaitEvent(t, e, 0));
      r.k("status", capture_status(t));
      Trace& tr = new_trace();
      r.k("op", try_hf(t, tr, "b"));
      r.k("record", cuEventRecord(j, t));
      r.k("join", cuStreamWaitEvent(s, j, 0));
      rec_end(r, "end", s);
    }
    cuEventDestroy(j);
    cuStreamDestroy(t);
  });
  add("capture.other_context_sync", SECOND_CONTEXT, [](Rec& r) {
    // unsafe calls in another context while a stream of this one captures
    OtherCtx o;
    Stream s(NB);
    begin(s, GLOBAL);
    {
      Current cur(o);
      CUdeviceptr p = 0;
      r.k("ctx_sync", cuCtxSynchronize());
      r.k("status", capture_status(s));
      CUresult e = r.k("mem_alloc", cuMemAlloc(&p, 64));
      r.k("status2", capture_status(s));
      if (e == CUDA_SUCCESS) {
        ThreadMode tm(RELAXED);
        cuMemFree(p);
      }
    }
    rec_end(r, "end", s);
  });
  add("capture.exchange_mode", [](Rec& r) {
    CUstreamCaptureMode m = RELAXED;
    r.k("first", cuThreadExchangeStreamCaptureMode(&m));
    r.k("was", m);
    m = LOCAL;
    r.k("second", cuThreadExchangeStreamCaptureMode(&m));
    r.k("was2", m);
    on_thread([&] {
      CUstreamCaptureMode q = GLOBAL;
      r.k("other_thread", cuThreadExchangeStreamCaptureMode(&q));
      r.k("other_was", q);
    });
    m = static_cast<CUstreamCaptureMode>(7);
    r.k("bad", cuThreadExchangeStreamCaptureMode(&m));
    r.k("bad_value_after", m);
    m = GLOBAL;
    r.k("restore", cuThreadExchangeStreamCaptureMode(&m));
    r.k("was3", m);
  });
  add("capture.exchange_mode_during", [](Rec& r) {
    Stream s(NB);
    begin(s, GLOBAL);
    CUdeviceptr p = 0;
    CUresult e;
    {
      ThreadMode tm(RELAXED);
      e = r.k("alloc_while_thread_relaxed", cuMemAlloc(&p, 64));
      r.k("status", capture_status(s));
      if (e == CUDA_SUCCESS) r.k("free_while_thread_relaxed", cuMemFree(p));
    }
    {
      ThreadMode tm(LOCAL);
      e = r.k("alloc_while_thread_local", cuMemAlloc(&p, 64));
      r.k("status2", capture_status(s));
    }
    rec_end(r, "end", s);
    if (e == CUDA_SUCCESS) cuMemFree(p);
  });
  add("capture.relaxed_capture_global_thread", [](Rec& r) {
    Stream s(NB);
    begin(s, RELAXED);
    CUdeviceptr p = 0;
    CUresult e = r.k("alloc", cuMemAlloc(&p, 64));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
    if (e == CUDA_SUCCESS) cuMemFree(p);
  });
  add("capture.two_captures_one_unsafe_call", [](Rec& r) {
    // which of two captures an unsafe call invalidates
    Stream s(NB), t(NB);
    begin(s, GLOBAL);
    begin(t, RELAXED);
    CUdeviceptr p = 0;
    r.k("alloc", cuMemAlloc(&p, 64));
    r.k("global_status", capture_status(s));
    r.k("relaxed_status", capture_status(t));
    rec_end(r, "end_global", s);
    rec_end(r, "end_relaxed", t);
    begin(s, LOCAL);
    begin(t, GLOBAL);
    r.k("alloc2", cuMemAlloc(&p, 64));
    r.k("local_status", capture_status(s));
    r.k("global_status2", capture_status(t));
    rec_end(r, "end_local", s);
    rec_end(r, "end_global2", t);
    if (p) cuMemFree(p);
  });
  add("capture.ctx_sync_two_captures", [](Rec& r) {
    Stream s(NB), t(NB);
    begin(s, GLOBAL);
    begin(t, RELAXED);
    r.k("ctx_sync", cuCtxSynchronize());
    r.k("global_status", capture_status(s));
    r.k("relaxed_status", capture_status(t));
    rec_end(r, "end_global", s);
    rec_end(r, "end_relaxed", t);
    r.k("ctx_sync_after", cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
