// SPDX-License-Identifier: Apache-2.0
// cases/context/ctx_primary.cpp - the primary context: lifetime, flags, reset.
#include "probe/probe.hpp"

namespace weir::conformance {

void ctx_primary_cases() {
  add("ctx.primary_lifecycle", RAW | SLOW, [](Rec& r) {
    init_device();
    unsigned f = 9;
    int a = 9;
    r.k("state0", cuDevicePrimaryCtxGetState(g.dev, &f, &a));
    r.k("flags0", f);
    r.k("active0", a);
    CUcontext c = nullptr, d = nullptr, cur = nullptr;
    r.k("release_unretained", cuDevicePrimaryCtxRelease(g.dev));
    r.k("retain", cuDevicePrimaryCtxRetain(&c, g.dev));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &a));
    r.k("active1", a);
    OK(cuCtxGetCurrent(&cur));
    r.k("made_current", cur != nullptr);
    r.k("retain2", cuDevicePrimaryCtxRetain(&d, g.dev));
    r.k("same", c == d);
    r.k("release1", cuDevicePrimaryCtxRelease(g.dev));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &a));
    r.k("active_after_1", a);
    r.k("release2", cuDevicePrimaryCtxRelease(g.dev));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &a));
    r.k("active_after_2", a);
    r.k("release3", cuDevicePrimaryCtxRelease(g.dev));
    r.k("retain_again", cuDevicePrimaryCtxRetain(&d, g.dev));
    r.k("same_again", c == d);
    r.k("bad_dev_retain", cuDevicePrimaryCtxRetain(&d, 99));
    r.k("bad_dev_release", cuDevicePrimaryCtxRelease(99));
    r.k("bad_dev_state", cuDevicePrimaryCtxGetState(99, &f, &a));
  });

  add("ctx.primary_flags", RAW | SLOW, [](Rec& r) {
    init_device();
    unsigned f = 9;
    int a = 9;
    r.k("set_blocking", cuDevicePrimaryCtxSetFlags(g.dev, CU_CTX_SCHED_BLOCKING_SYNC));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &a));
    r.k("flags", f);
    r.k("active", a);
    r.k("bad3", cuDevicePrimaryCtxSetFlags(g.dev, 3));
    r.k("bad7", cuDevicePrimaryCtxSetFlags(g.dev, 7));
    r.k("bad100", cuDevicePrimaryCtxSetFlags(g.dev, 0x100));
    CUcontext c;
    OK(cuDevicePrimaryCtxRetain(&c, g.dev));
    OK(cuCtxSetCurrent(c));
    r.k("ctx_flags", cuCtxGetFlags(&f));
    r.k("ctx_flags_value", f);
    r.k("set_active", cuDevicePrimaryCtxSetFlags(g.dev, CU_CTX_SCHED_SPIN));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &a));
    r.k("state_flags", f);
    OK(cuCtxGetFlags(&f));
    r.k("ctx_flags_after", f);
    r.k("ctx_set_flags", cuCtxSetFlags(CU_CTX_SCHED_YIELD));
    OK(cuCtxGetFlags(&f));
    r.k("ctx_flags_set", f);
    r.k("ctx_set_bad", cuCtxSetFlags(3));
  });

  add("ctx.primary_reset", ISO | SLOW, [](Rec& r) {
    unsigned f = 0;
    int a = 0;
    CUcontext cur = nullptr, c = nullptr;
    r.k("reset", cuDevicePrimaryCtxReset(g.dev));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &a));
    r.k("active", a);
    r.k("get_current", cuCtxGetCurrent(&cur));
    r.k("current_kept", cur == g.ctx);
    CUdeviceptr p = 0;
    CUstream s = nullptr;
    r.k("mem_alloc", cuMemAlloc(&p, 16));
    r.k("stream_create", cuStreamCreate(&s, 0));
    r.k("ctx_sync", cuCtxSynchronize());
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &a));
    r.k("active_after_use", a);
    r.k("set_current", cuCtxSetCurrent(g.ctx));
    r.k("mem_alloc2", cuMemAlloc(&p, 16));
    r.k("retain", cuDevicePrimaryCtxRetain(&c, g.dev));
    r.k("same", c == g.ctx);
    r.k("set_current2", cuCtxSetCurrent(c));
    r.k("mem_alloc3", cuMemAlloc(&p, 16));
  });

  add("ctx.primary_reset_memory", ISO | SLOW, [](Rec& r) {
    DevMem m(64);
    unsigned ty = 0;
    r.k("attr_before", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, m));
    OK(cuDevicePrimaryCtxReset(g.dev));
    r.k("attr_after", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, m));
    m.p = 0;
  });

  add("ctx.primary_released_use", RAW | SLOW, [](Rec& r) {
    init_device();
    CUcontext c, cur = nullptr;
    OK(cuDevicePrimaryCtxRetain(&c, g.dev));
    OK(cuCtxSetCurrent(c));
    r.k("release", cuDevicePrimaryCtxRelease(g.dev));
    r.k("get_current", cuCtxGetCurrent(&cur));
    r.k("current_kept", cur == c);
    CUdevice d = -1;
    r.k("get_device", cuCtxGetDevice(&d));
    CUstream s = nullptr;
    CUevent e = nullptr;
    CUdeviceptr p = 0;
    r.k("stream_create", cuStreamCreate(&s, 0));
    r.k("event_create", cuEventCreate(&e, 0));
    r.k("mem_alloc", cuMemAlloc(&p, 16));
    r.k("sync", cuCtxSynchronize());
    r.k("stream_query", cuStreamQuery(nullptr));
    r.k("push_released", cuCtxPushCurrent(c));
    r.k("set_released", cuCtxSetCurrent(c));
    r.k("get_flags", [&] {
      unsigned f;
      return cuCtxGetFlags(&f);
    }());
  });

  add("ctx.primary_destroy", ISO, [](Rec& r) {
    r.k("destroy_primary", cuCtxDestroy(g.ctx));
    CUcontext cur = nullptr;
    r.k("get_current", cuCtxGetCurrent(&cur));
    r.k("still_current", cur == g.ctx);
    CUdeviceptr p = 0;
    r.k("mem_alloc", cuMemAlloc(&p, 16));
    unsigned f = 0;
    int a = 0;
    r.k("state", cuDevicePrimaryCtxGetState(g.dev, &f, &a));
    r.k("active", a);
  });
}

}  // namespace weir::conformance
