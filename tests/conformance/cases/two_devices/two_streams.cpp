// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_streams.cpp - a stream of device 1 used while device 0's context is
// current.
#include "probe/probe.hpp"

#include <atomic>

namespace weir::conformance {

void two_streams_cases() {
  add("two.stream_questions", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    r.k("query", cuStreamQuery(device1.s));
    CUcontext c = nullptr;
    r.k("get_ctx", cuStreamGetCtx(device1.s, &c));
    r.k("get_ctx.is_far", c == device1.ctx);
    CUdevice d = -7;
    r.k("get_device", cuStreamGetDevice(device1.s, &d));
    r.k("get_device.is", d);
    r.k("get_device_legacy", cuStreamGetDevice(LEGACY, &d));
    r.k("get_device_legacy.is", d);
    unsigned flags = 9;
    r.k("get_flags", cuStreamGetFlags(device1.s, &flags));
    r.k("get_flags.is", flags);
    int priority = 9;
    r.k("get_priority", cuStreamGetPriority(device1.s, &priority));
    unsigned long long id = 0;
    r.k("get_id", cuStreamGetId(device1.s, &id));
    CUstreamAttrValue v{};
    r.k("get_attribute", cuStreamGetAttribute(device1.s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    r.k("set_attribute", cuStreamSetAttribute(device1.s, CU_STREAM_ATTRIBUTE_PRIORITY, &v));
    const Stream s(NB);
    r.k("copy_attributes", cuStreamCopyAttributes(device1.s, s));
    r.k("capture_status", capture_status(device1.s));
    const Current current(device1.ctx);
    r.k("far_legacy_device", cuStreamGetDevice(LEGACY, &d));
    r.k("far_legacy_device.is", d);
    r.k("far_null_ctx", cuStreamGetCtx(nullptr, &c));
    r.k("far_null_ctx.is_far", c == device1.ctx);
  });
  add("two.stream_ids_differ", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    unsigned long long near_id = 0, far_id = 0, near_legacy = 0, far_legacy = 0;
    OK(cuStreamGetId(s, &near_id));
    OK(cuStreamGetId(device1.s, &far_id));
    r.k("made_same", near_id == far_id);
    r.k("near_legacy", cuStreamGetId(nullptr, &near_legacy));
    const Current current(device1.ctx);
    r.k("far_legacy", cuStreamGetId(nullptr, &far_legacy));
    r.k("legacy_same", near_legacy == far_legacy);
    unsigned long long near_context = 0, far_context = 0;
    OK(cuCtxGetId(g.ctx, &near_context));
    OK(cuCtxGetId(device1.ctx, &far_context));
    r.k("contexts_same", near_context == far_context);
  });
  add("two.stream_work", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    Trace& t = new_trace();
    r.k("host_function", try_hf(device1.s, t, "x"));
    r.k("ran", t.wait_size(1, kMustHappenMs));
    static std::atomic<int> called;
    called = 0;
    r.k("callback", cuStreamAddCallback(
                        device1.s, [](CUstream, CUresult, void*) { called++; }, nullptr, 0));
    r.k("called", wait_for([] { return called == 1; }, kMustHappenMs));
    Cell c = new_cell();
    r.k("write_pinned", cuStreamWriteValue32(device1.s, c.d, 4, 0));
    r.k("written", late(c, 4));
    r.k("wait_pinned", cuStreamWaitValue32(device1.s, c.d, 4, CU_STREAM_WAIT_VALUE_EQ));
    r.k("set_pinned", cuMemsetD32Async(c.d, 5, 1, device1.s));
    r.k("was_set", late(c, 5));
    r.k("sync", cuStreamSynchronize(device1.s));
    Graph gr;
    add_label(gr, {}, "n", &t);
    Exec x(gr);
    r.k("upload", cuGraphUpload(x, device1.s));
    r.k("launch", cuGraphLaunch(x, device1.s));
    r.k("launched", t.wait_size(2, kMustHappenMs));
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.stream_host_function_context", SECOND_DEVICE, [](Rec& r) {
    // which context is current in a callback of a stream of device 1
    const SecondDevice device1;
    static std::atomic<int> seen;
    seen = -1;
    r.k("callback", cuStreamAddCallback(
                        device1.s,
                        [](CUstream, CUresult, void*) {
                          CUcontext c = nullptr;
                          if (cuCtxGetCurrent(&c) != CUDA_SUCCESS)
                            c = reinterpret_cast<CUcontext>(1);
                          seen = !c ? 0 : c == g.ctx ? 1 : c == g.device1 ? 2 : 3;
                        },
                        nullptr, 0));
    r.k("called", wait_for([] { return seen >= 0; }, kMustHappenMs));
    static constexpr const char* kNames[] = {"none", "near", "far", "other"};
    const int n = seen;
    r.k("~current", n >= 0 ? kNames[n] : "unknown");
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.stream_without_context", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    on_thread(
        [&] {
          Trace& t = new_trace();
          r.k("query", cuStreamQuery(device1.s));
          r.k("host_function", try_hf(device1.s, t, "x"));
          r.k("sync", cuStreamSynchronize(device1.s));
          r.k("set", cuMemsetD32Async(device1.mem, 1, 1, device1.s));
          r.k("copy",
              cuMemcpyAsync(device1.mem, reinterpret_cast<CUdeviceptr>(g.pin), 64, device1.s));
          CUdevice d = -7;
          r.k("device", cuStreamGetDevice(device1.s, &d));
          r.k("begin", cuStreamBeginCapture(device1.s, GLOBAL));
          CUgraph gr = nullptr;
          if (r.k("end", cuStreamEndCapture(device1.s, &gr)) == CUDA_SUCCESS && gr)
            cuGraphDestroy(gr);
        },
        false);
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.stream_destroyed_from_near", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    CUstream s = nullptr;
    {
      const Current current(device1.ctx);
      OK(cuStreamCreate(&s, NB));
    }
    Cell c = new_cell();
    ValueGate v;
    hold(v, s);
    mark(s, c);
    r.k("destroy", cuStreamDestroy(s));
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
    {
      const Current current(device1.ctx);
      OK(cuCtxSynchronize());
    }
  });
  add("two.priorities", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Current current(device1.ctx);
    int least = 9, greatest = 9;
    r.k("range", cuCtxGetStreamPriorityRange(&least, &greatest));
    r.k("least", least);
    r.k("greatest", greatest);
  });
}

}  // namespace weir::conformance
