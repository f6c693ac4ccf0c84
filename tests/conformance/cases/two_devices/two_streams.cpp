// cases/two_streams.cpp - a far stream used while the near context is current.
#include "probe/probe.hpp"

#include <atomic>

namespace weir::conformance {

void two_streams_cases() {
  add("two.stream_questions", FAR, [](Rec& r) {
    const Far far;
    r.k("query", cuStreamQuery(far.s));
    CUcontext c = nullptr;
    r.k("get_ctx", cuStreamGetCtx(far.s, &c));
    r.k("get_ctx.is_far", c == far.ctx);
    CUdevice d = -7;
    r.k("get_device", cuStreamGetDevice(far.s, &d));
    r.k("get_device.is", d);
    r.k("get_device_legacy", cuStreamGetDevice(LEGACY, &d));
    r.k("get_device_legacy.is", d);
    unsigned flags = 9;
    r.k("get_flags", cuStreamGetFlags(far.s, &flags));
    r.k("get_flags.is", flags);
    int priority = 9;
    r.k("get_priority", cuStreamGetPriority(far.s, &priority));
    unsigned long long id = 0;
    r.k("get_id", cuStreamGetId(far.s, &id));
    CUstreamAttrValue v{};
    r.k("get_attribute", cuStreamGetAttribute(far.s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    r.k("set_attribute", cuStreamSetAttribute(far.s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    const Stream s(NB);
    r.k("copy_attributes", cuStreamCopyAttributes(far.s, s));
    r.k("capture_status", capture_status(far.s));
    const Current current(far.ctx);
    r.k("far_legacy_device", cuStreamGetDevice(LEGACY, &d));
    r.k("far_legacy_device.is", d);
    r.k("far_null_ctx", cuStreamGetCtx(nullptr, &c));
    r.k("far_null_ctx.is_far", c == far.ctx);
  });
  add("two.stream_ids_differ", FAR, [](Rec& r) {
    const Far far;
    const Stream s(NB);
    unsigned long long near_id = 0, far_id = 0, near_legacy = 0, far_legacy = 0;
    OK(cuStreamGetId(s, &near_id));
    OK(cuStreamGetId(far.s, &far_id));
    r.k("made_same", near_id == far_id);
    r.k("near_legacy", cuStreamGetId(nullptr, &near_legacy));
    const Current current(far.ctx);
    r.k("far_legacy", cuStreamGetId(nullptr, &far_legacy));
    r.k("legacy_same", near_legacy == far_legacy);
    unsigned long long near_context = 0, far_context = 0;
    OK(cuCtxGetId(g.ctx, &near_context));
    OK(cuCtxGetId(far.ctx, &far_context));
    r.k("contexts_same", near_context == far_context);
  });
  add("two.stream_work", FAR, [](Rec& r) {
    const Far far;
    Trace& t = new_trace();
    r.k("host_function", try_hf(far.s, t, "x"));
    r.k("ran", t.wait_size(1, kSurelyMs));
    static std::atomic<int> called;
    called = 0;
    r.k("callback", cuStreamAddCallback(
                        far.s, [](CUstream, CUresult, void*) { called++; }, nullptr, 0));
    r.k("called", wait_for([] { return called == 1; }, kSurelyMs));
    Cell c = new_cell();
    r.k("write_pinned", cuStreamWriteValue32(far.s, c.d, 4, 0));
    r.k("written", late(c, 4));
    r.k("wait_pinned", cuStreamWaitValue32(far.s, c.d, 4, CU_STREAM_WAIT_VALUE_EQ));
    r.k("set_pinned", cuMemsetD32Async(c.d, 5, 1, far.s));
    r.k("was_set", late(c, 5));
    r.k("sync", cuStreamSynchronize(far.s));
    Graph gr;
    add_label(gr, {}, "n", &t);
    Exec x(gr);
    r.k("upload", cuGraphUpload(x, far.s));
    r.k("launch", cuGraphLaunch(x, far.s));
    r.k("launched", t.wait_size(2, kSurelyMs));
    OK(cuStreamSynchronize(far.s));
  });
  add("two.stream_host_function_context", FAR, [](Rec& r) {
    // What is current in a callback of a far stream?
    const Far far;
    static std::atomic<int> seen;
    seen = -1;
    r.k("callback", cuStreamAddCallback(
                        far.s,
                        [](CUstream, CUresult, void*) {
                          CUcontext c = nullptr;
                          if (cuCtxGetCurrent(&c) != CUDA_SUCCESS) c = reinterpret_cast<CUcontext>(1);
                          seen = !c ? 0 : c == g.ctx ? 1 : c == g.far ? 2 : 3;
                        },
                        nullptr, 0));
    r.k("called", wait_for([] { return seen >= 0; }, kSurelyMs));
    static constexpr const char* kNames[] = {"none", "near", "far", "other"};
    const int n = seen;
    r.k("~current", n >= 0 ? kNames[n] : "unknown");
    OK(cuStreamSynchronize(far.s));
  });
  add("two.stream_without_context", FAR, [](Rec& r) {
    const Far far;
    on_thread(
        [&] {
          Trace& t = new_trace();
          r.k("query", cuStreamQuery(far.s));
          r.k("host_function", try_hf(far.s, t, "x"));
          r.k("sync", cuStreamSynchronize(far.s));
          r.k("set", cuMemsetD32Async(far.mem, 1, 1, far.s));
          r.k("copy", cuMemcpyAsync(far.mem, reinterpret_cast<CUdeviceptr>(g.pin), 64, far.s));
          CUdevice d = -7;
          r.k("device", cuStreamGetDevice(far.s, &d));
          r.k("begin", cuStreamBeginCapture(far.s, GLOBAL));
          CUgraph gr = nullptr;
          if (r.k("end", cuStreamEndCapture(far.s, &gr)) == CUDA_SUCCESS && gr) cuGraphDestroy(gr);
        },
        false);
    OK(cuStreamSynchronize(far.s));
  });
  add("two.stream_destroyed_from_near", FAR, [](Rec& r) {
    const Far far;
    CUstream s = nullptr;
    {
      const Current current(far.ctx);
      OK(cuStreamCreate(&s, NB));
    }
    Cell c = new_cell();
    VGate v;
    hold(v, s);
    mark(s, c);
    r.k("destroy", cuStreamDestroy(s));
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
    {
      const Current current(far.ctx);
      OK(cuCtxSynchronize());
    }
  });
  add("two.priorities", FAR, [](Rec& r) {
    const Far far;
    const Current current(far.ctx);
    int least = 9, greatest = 9;
    r.k("range", cuCtxGetStreamPriorityRange(&least, &greatest));
    r.k("least", least);
    r.k("greatest", greatest);
  });
}

}  // namespace weir::conformance
