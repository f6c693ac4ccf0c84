// SPDX-License-Identifier: Apache-2.0
// cases/context/green_streams.cpp - streams of green contexts: created, queried, used.
#include "cases/context/greens.hpp"

namespace weir::conformance {
namespace {

// Records the contexts that a stream reports.
void rec_contexts(Rec& r, const std::string& key, CUstream s, const Green& green) {
  CUcontext c = nullptr, as = green.context();
  CUgreenCtx of = nullptr;
  r.k(key + ".ctx", cuStreamGetCtx(s, &c));
  r.k(key + ".ctx_is", which(c, as));
  c = nullptr;
  r.k(key + ".v2", cuStreamGetCtx_v2(s, &c, &of));
  r.k(key + ".v2_is", which(c, as) + "," + which(of, green.h));
  of = nullptr;
  r.k(key + ".green", cuStreamGetGreenCtx(s, &of));
  r.k(key + ".green_is", which(of, green.h));
}

}  // namespace

void green_streams_cases() {
  add("green.stream_create", SLOW, [](Rec& r) {
    Green c;
    const std::pair<unsigned, int> ways[] = {{0, 0},           {1, 0},   {2, 0},    {3, 0},
                                             {0x80000000u, 0}, {1, -1},  {1, -5},   {1, -6},
                                             {1, 1},           {1, 100}, {1, -100}, {0, -5}};
    for (const auto& [flags, priority] : ways) {
      const std::string key = "f" + std::to_string(flags) + "p" + std::to_string(priority);
      CUstream s = nullptr;
      if (r.k(key, cuGreenCtxStreamCreate(&s, c, flags, priority)) != CUDA_SUCCESS) continue;
      int got = 99;
      unsigned f = 99;
      cuStreamGetPriority(s, &got);
      r.k(key + ".priority", got);
      cuStreamGetFlags(s, &f);
      r.k(key + ".flags", f);
      cuStreamDestroy(s);
    }
  });

  add("green.stream_contexts", SLOW, [](Rec& r) {
    Green c;
    {
      GreenStream s(c);
      rec_contexts(r, "made_in_green", s, c);
      CUdevice d = -1;
      r.k("device", cuStreamGetDevice(s, &d));
      r.k("device_same", d == g.dev);
      unsigned long long id = 0;
      r.k("id", cuStreamGetId(s, &id));
      r.k("v2_null_ctx", [&] {
        CUgreenCtx of = nullptr;
        return cuStreamGetCtx_v2(s, nullptr, &of);
      }());
      r.k("v2_null_green", [&] {
        CUcontext of = nullptr;
        return cuStreamGetCtx_v2(s, &of, nullptr);
      }());
      r.k("green_null_out", cuStreamGetGreenCtx(s, nullptr));
    }
    {
      Stream s(NB);
      rec_contexts(r, "made_in_primary", s, c);
    }
    rec_contexts(r, "null_in_primary", nullptr, c);
    rec_contexts(r, "legacy_in_primary", LEGACY, c);
    rec_contexts(r, "per_thread_in_primary", PER_THREAD, c);
  });

  add("green.stream_made_while_current", SLOW, [](Rec& r) {
    Green c;
    Current cur(c.context());
    for (unsigned flags : {NB, BL}) {
      const std::string key = flags == NB ? "non_blocking" : "blocking";
      CUstream s = nullptr;
      if (r.k(key, cuStreamCreate(&s, flags)) != CUDA_SUCCESS) continue;
      rec_contexts(r, key, s, c);
      unsigned f = 99;
      cuStreamGetFlags(s, &f);
      r.k(key + ".flags", f);
      cuStreamDestroy(s);
    }
    CUstream s = nullptr;
    if (r.k("priority", cuStreamCreateWithPriority(&s, NB, -2)) == CUDA_SUCCESS) {
      int p = 9;
      cuStreamGetPriority(s, &p);
      r.k("priority_value", p);
      cuStreamDestroy(s);
    }
    rec_contexts(r, "null", nullptr, c);
    rec_contexts(r, "legacy", LEGACY, c);
    rec_contexts(r, "per_thread", PER_THREAD, c);
  });

  add("green.default_streams_differ", SLOW, [](Rec& r) {
    Green c;
    unsigned long long primary = 0, green = 0, primary_thread = 0, green_thread = 0;
    OK(cuStreamGetId(LEGACY, &primary));
    OK(cuStreamGetId(PER_THREAD, &primary_thread));
    Current cur(c.context());
    r.k("id", cuStreamGetId(LEGACY, &green));
    r.k("differs", primary != green);
    r.k("thread_id", cuStreamGetId(PER_THREAD, &green_thread));
    r.k("thread_differs", primary_thread != green_thread);
  });

  add("green.null_stream_runs", SLOW, [](Rec& r) {
    Green c;
    const Cell a = new_cell(), b = new_cell(), d = new_cell();
    Current cur(c.context());
    r.k("null", cuMemsetD32Async(a.d, 1, 1, nullptr));
    r.k("null.done", late(a));
    r.k("per_thread", cuMemsetD32Async(b.d, 1, 1, PER_THREAD));
    r.k("per_thread.done", late(b));
    r.k("sync_set", cuMemsetD32(d.d, 1, 1));
    r.k("sync_set.done", late(d));
    r.k("sync", cuStreamSynchronize(nullptr));
  });

  add("green.work_and_events", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Stream t(NB);
    Event e, timed_a(0), timed_b(0);
    const Cell cell = new_cell();
    Trace& trace = new_trace();
    r.k("memset", cuMemsetD32Async(cell.d, 1, 1, s));
    r.k("memset.done", late(cell));
    r.k("host", try_hf(s, trace, "x"));
    r.k("host.ran", trace.wait_size(1, kMustHappenMs));
    r.k("record_primary_event", cuEventRecord(e, s));
    r.k("wait_in_primary", cuStreamWaitEvent(t, e, 0));
    r.k("sync", cuEventSynchronize(e));
    r.k("record_a", cuEventRecord(timed_a, s));
    r.k("record_b", cuEventRecord(timed_b, t));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(t));
    float ms = 0;
    r.k("elapsed", cuEventElapsedTime(&ms, timed_a, timed_b));
    CUevent made = nullptr;
    {
      Current cur(c.context());
      r.k("event_create", cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
    }
    r.k("record_green_event_in_primary", cuEventRecord(made, t));
    r.k("record_green_event_in_null", cuEventRecord(made, nullptr));
    r.k("record_green_event_in_green", cuEventRecord(made, s));
    r.k("wait_green_event", cuStreamWaitEvent(t, made, 0));
    r.k("destroy", cuEventDestroy(made));
    r.k("query", cuStreamQuery(s));
    CUdeviceptr p = 0;
    r.k("alloc_async", cuMemAllocAsync(&p, 256, s));
    if (p) r.k("free_async", cuMemFreeAsync(p, t));
    r.k("sync_all", cuStreamSynchronize(s));
  });
}

}  // namespace weir::conformance
