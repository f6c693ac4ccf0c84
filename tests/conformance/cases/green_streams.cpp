// cases/green_streams.cpp - streams of green contexts: made, asked, ordered, captured.
#include "cases/greens.hpp"
#include "cases/inside.hpp"

namespace weir::conformance {
namespace {

constexpr unsigned kDefaultStream = CU_GREEN_CTX_DEFAULT_STREAM;

std::string which(CUcontext c, CUcontext green) {
  return c == nullptr ? "null" : c == g.ctx ? "primary" : c == green ? "green" : "other";
}

std::string which(CUgreenCtx c, CUgreenCtx green) { return c == nullptr ? "null" : c == green ? "green" : "other"; }

// What a stream says of its contexts.
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
    const std::pair<unsigned, int> ways[] = {{0, 0},  {1, 0},  {2, 0}, {3, 0},   {0x80000000u, 0}, {1, -1},
                                             {1, -5}, {1, -6}, {1, 1}, {1, 100}, {1, -100},        {0, -5}};
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
    r.k("host.ran", trace.wait_size(1, kSurelyMs));
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

  add("green.record_event", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c), t(c);
    Stream outside(NB);
    Event e, f;
    r.k("idle", cuGreenCtxRecordEvent(c, e));
    r.k("idle.sync", cuEventSynchronize(e));
    VGate gate, outside_gate;
    gate.arm(t);
    outside_gate.arm(outside);
    r.k("record", cuGreenCtxRecordEvent(c, e));
    r.k("held", cuEventQuery(e));
    r.k("primary", cuCtxRecordEvent(g.ctx, f));
    r.k("primary.held", cuEventQuery(f));
    gate.open();
    r.k("sync", cuEventSynchronize(e));
    r.k("primary.still_held", cuEventQuery(f));
    outside_gate.open();
    r.k("primary.sync", cuEventSynchronize(f));
  });
  add("green.record_event_by_context", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Event e, timed(0);
    r.k("as_context", cuCtxRecordEvent(c.context(), e));
    r.k("as_context.sync", cuEventSynchronize(e));
    r.k("wait_as_context", cuCtxWaitEvent(c.context(), e));
    r.k("timed", cuGreenCtxRecordEvent(c, timed));
    CUevent made = nullptr;
    {
      Current cur(c.context());
      OK(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
    }
    r.k("own_event", cuGreenCtxRecordEvent(c, made));
    r.k("own_event_in_primary", cuCtxRecordEvent(g.ctx, made));
    cuEventDestroy(made);
  });
  add("green.record_covers_primary", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Event e, f;
    VGate gate;
    gate.arm(s);
    r.k("primary", cuCtxRecordEvent(g.ctx, e));
    r.k("primary.held_by_green", cuEventQuery(e));
    r.k("green", cuGreenCtxRecordEvent(c, f));
    r.k("green.held", cuEventQuery(f));
    gate.open();
    r.k("sync_e", cuEventSynchronize(e));
    r.k("sync_f", cuEventSynchronize(f));
  });
  add("green.record_other_context_event", TWO | SLOW, [](Rec& r) {
    OtherCtx o;
    Green c;
    CUevent e = nullptr;
    {
      Current cur(o);
      OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    }
    r.k("record", cuGreenCtxRecordEvent(c, e));
    r.k("wait", cuGreenCtxWaitEvent(c, e));
    cuEventDestroy(e);
  });

  add("green.wait_event", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Stream outside(NB), holder(NB);
    Event e;
    const Cell in = new_cell(), out = new_cell(), later = new_cell(), in_null = new_cell();
    r.k("unrecorded", cuGreenCtxWaitEvent(c, e));
    VGate gate;
    gate.arm(holder);
    OK(cuEventRecord(e, holder));
    r.k("wait", cuGreenCtxWaitEvent(c, e));
    mark(s, in);
    mark(outside, out);
    GreenStream made_later(c);
    mark(made_later, later);
    {
      Current cur(c.context());
      OK(cuMemsetD32Async(in_null.d, 1, 1, LEGACY));
    }
    r.k("outside", late(out));
    r.k("inside_early", early(in));
    r.k("later_early", early(later));
    r.k("default_early", early(in_null));
    gate.open();
    r.k("inside", late(in));
    r.k("later", late(later));
    r.k("default", late(in_null));
  });

  add("green.sync_waits_for", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Stream t(NB);
    {
      VGate gate;
      gate.arm(s);
      rec_blk(r, "primary_green_held", blocking([&] { gate.open(); }, [] { return cuCtxSynchronize(); }));
    }
    OK(cuStreamSynchronize(s));
    {
      VGate gate;
      gate.arm(t);
      Current cur(c.context());
      rec_blk(r, "green_primary_held", blocking([&] { gate.open(); }, [] { return cuCtxSynchronize(); }));
    }
    OK(cuStreamSynchronize(t));
    {
      VGate gate;
      gate.arm(s);
      Current cur(c.context());
      rec_blk(r, "green_green_held", blocking([&] { gate.open(); }, [] { return cuCtxSynchronize(); }));
    }
  });

  add("green.legacy_barriers", SLOW, [](Rec& r) {
    Green c;
    Stream outside(BL);
    CUstream inside = nullptr;
    {
      Current cur(c.context());
      OK(cuStreamCreate(&inside, BL));
    }
    const auto held = [&](const char* key, CUstream holder, CUcontext at, CUstream mark_in) {
      const Cell cell = new_cell();
      {
        VGate gate;
        gate.arm(holder);
        {
          Current cur(at);
          OK(cuMemsetD32Async(cell.d, 1, 1, mark_in));
        }
        r.k(std::string(key) + ".early", early(cell));
        gate.open();
        r.k(std::string(key) + ".done", late(cell));
      }
      OK(cuStreamSynchronize(holder));
    };
    held("green_null_behind_green_blocking", inside, c.context(), LEGACY);
    held("green_null_behind_primary_blocking", outside, c.context(), LEGACY);
    held("primary_null_behind_green_blocking", inside, g.ctx, LEGACY);
    held("primary_null_behind_primary_blocking", outside, g.ctx, LEGACY);
    cuStreamDestroy(inside);
  });

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
    during("device_resource", [&] { return cuDeviceGetDevResource(g.dev, &part, CU_DEV_RESOURCE_TYPE_SM); });
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

  add("green.destroy_with_streams", ISO | SLOW, [](Rec& r) {
    Green c;
    CUstream s = nullptr, made_current = nullptr;
    CUevent e = nullptr;
    OK(cuGreenCtxStreamCreate(&s, c, NB, 0));
    {
      Current cur(c.context());
      OK(cuStreamCreate(&made_current, NB));
      OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    }
    OK(cuEventRecord(e, s));
    OK(cuStreamSynchronize(s));
    r.k("destroy", c.destroy());
    r.k("event_query", cuEventQuery(e));
    r.k("query", cuStreamQuery(s));
    r.k("sync", cuStreamSynchronize(s));
    const Cell cell = new_cell();
    r.k("memset", cuMemsetD32Async(cell.d, 1, 1, s));
    unsigned f = 0;
    r.k("flags", cuStreamGetFlags(s, &f));
    CUgreenCtx of = nullptr;
    r.k("get_green", cuStreamGetGreenCtx(s, &of));
    r.k("destroy_stream", cuStreamDestroy(s));
    r.k("destroy_made_current", cuStreamDestroy(made_current));
    r.k("event_destroy", cuEventDestroy(e));
  });
  add("green.destroy_with_work", ISO | SLOW, [](Rec& r) {
    Green c;
    CUstream s = nullptr;
    OK(cuGreenCtxStreamCreate(&s, c, NB, 0));
    const Cell cell = new_cell();
    VGate gate;
    gate.arm(s);
    mark(s, cell);
    rec_blk(r, "destroy", blocking([&] { gate.open(); }, [&] { return c.destroy(); }));
    gate.open();
    r.k("ran", late(cell));
  });
  add("green.stream_destroyed_with_work", SLOW, [](Rec& r) {
    Green c;
    CUstream s = nullptr;
    OK(cuGreenCtxStreamCreate(&s, c, NB, 0));
    const Cell cell = new_cell();
    VGate gate;
    gate.arm(s);
    mark(s, cell);
    r.k("destroy", cuStreamDestroy(s));
    gate.open();
    r.k("ran", late(cell));
  });

  for (const char* kind : {"hostfn", "callback"}) {
    const auto inside = [kind](const char* name, InsideCall call) {
      add(std::string("green.inside.") + kind + "." + name, ISO | SLOW,
          [kind, call](Rec& r) { run_inside(r, kind, call); });
    };
    inside("device_resource", [](InsideEnv&) {
      CUdevResource part{};
      return cuDeviceGetDevResource(g.dev, &part, CU_DEV_RESOURCE_TYPE_SM);
    });
    inside("get_green", [](InsideEnv& env) {
      CUgreenCtx of = nullptr;
      return cuStreamGetGreenCtx(env.self, &of);
    });
    inside("split", [](InsideEnv&) {
      CUdevResource none{}, part{};
      unsigned n = 1;
      return cuDevSmResourceSplitByCount(&part, &n, &none, nullptr, 0, 16);
    });
    inside("id", [](InsideEnv&) {
      unsigned long long id = 0;
      return cuGreenCtxGetId(nullptr, &id);
    });
  }
}

}  // namespace weir::conformance
