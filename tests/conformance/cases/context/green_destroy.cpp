// SPDX-License-Identifier: Apache-2.0
// cases/context/green_destroy.cpp - green contexts destroyed while current, with the primary
// context, and used afterwards.
#include "cases/context/greens.hpp"

#include <thread>

namespace weir::conformance {
void green_destroy_cases() {
  add("green.destroy_while_current", ISO | SLOW, [](Rec& r) {
    Green c;
    const CUcontext as = c.context();
    OK(cuCtxSetCurrent(as));
    r.k("destroy", c.destroy());
    r.k("current", which(current_context(), as));
    CUdevice d = -1;
    r.k("device", cuCtxGetDevice(&d));
    CUdeviceptr p = 0;
    r.k("alloc", cuMemAlloc(&p, 64));
    r.k("sync", cuCtxSynchronize());
    unsigned f = 0;
    r.k("flags", cuCtxGetFlags(&f));
    r.k("set_primary", cuCtxSetCurrent(g.ctx));
    r.k("alloc_in_primary", cuMemAlloc(&p, 64));
  });
  add("green.destroy_current_elsewhere", ISO | SLOW, [](Rec& r) {
    Green c;
    const CUcontext as = c.context();
    Trace& set = new_trace();
    Trace& gone = new_trace();
    std::thread other([&] {
      r.k("set", cuCtxSetCurrent(as));
      set.add("set");
      gone.wait_size(1, kMustHappenMs);
      CUdeviceptr p = 0;
      r.k("alloc", cuMemAlloc(&p, 64));
      CUcontext popped = nullptr;
      r.k("pop", cuCtxPopCurrent(&popped));
    });
    set.wait_size(1, kMustHappenMs);
    const CUresult e = c.destroy();
    gone.add("gone");
    other.join();
    r.k("destroy", e);
  });
  add("green.destroy_twice", ISO | SLOW, [](Rec& r) {
    Green c;
    const CUgreenCtx h = c;
    r.k("first", c.destroy());
    r.k("second", cuGreenCtxDestroy(h));
  });
  add("green.use_after_destroy", ISO | SLOW, [](Rec& r) {
    Green c;
    const CUcontext as = c.context();
    OK(c.destroy());
    r.k("push", cuCtxPushCurrent(as));
    cuCtxSetCurrent(g.ctx);
    unsigned version = 0;
    r.k("api_version", cuCtxGetApiVersion(as, &version));
  });
  add("green.context_of_destroyed", ISO | SLOW, [](Rec& r) {
    Green c;
    const CUgreenCtx h = c;
    OK(c.destroy());
    CUcontext again = nullptr;
    r.k("context", cuCtxFromGreenCtx(&again, h));
  });
  add("green.stream_in_destroyed", ISO | SLOW, [](Rec& r) {
    Green c;
    const CUgreenCtx h = c;
    OK(c.destroy());
    CUstream s = nullptr;
    r.k("stream", cuGreenCtxStreamCreate(&s, h, NB, 0));
  });
  add("green.primary_as_green", ISO | SLOW, [](Rec& r) {
    const auto h = reinterpret_cast<CUgreenCtx>(g.ctx);
    unsigned long long id = 0;
    CUcontext c = nullptr;
    r.k("id", cuGreenCtxGetId(h, &id));
    r.k("context", cuCtxFromGreenCtx(&c, h));
    r.k("destroy", cuGreenCtxDestroy(h));
  });

  // Which objects keep the primary context alive, and which calls end it.
  add("green.primary_after_destroy", RAW | SLOW, [](Rec& r) {
    init_device();
    const auto active = [] {
      unsigned f = 0;
      int is = -1;
      OK(cuDevicePrimaryCtxGetState(g.dev, &f, &is));
      return is;
    };
    CUgreenCtx c = nullptr;
    OK(cuGreenCtxCreate(&c, desc_of(sms()), g.dev, kDefaultStream));
    r.k("destroy", cuGreenCtxDestroy(c));
    r.k("destroy.active", active());
    r.k("release", cuDevicePrimaryCtxRelease(g.dev));
    r.k("release.active", active());
    r.k("reset", cuDevicePrimaryCtxReset(g.dev));
    r.k("reset.active", active());
  });
  add("green.release_while_alive", RAW | SLOW, [](Rec& r) {
    init_device();
    const auto active = [] {
      unsigned f = 0;
      int is = -1;
      OK(cuDevicePrimaryCtxGetState(g.dev, &f, &is));
      return is;
    };
    CUcontext primary = nullptr;
    OK(cuDevicePrimaryCtxRetain(&primary, g.dev));
    OK(cuDevicePrimaryCtxRetain(&primary, g.dev));
    CUgreenCtx c = nullptr;
    OK(cuGreenCtxCreate(&c, desc_of(sms()), g.dev, kDefaultStream));
    for (const char* key : {"release1", "release2", "release3"}) {
      r.k(key, cuDevicePrimaryCtxRelease(g.dev));
      r.k(std::string(key) + ".active", active());
    }
    r.k("destroy", cuGreenCtxDestroy(c));
    r.k("destroy.active", active());
    for (const char* key : {"release4", "release5"}) {
      r.k(key, cuDevicePrimaryCtxRelease(g.dev));
      r.k(std::string(key) + ".active", active());
    }
  });

  add("green.destroy_in_other_context", SLOW, [](Rec& r) {
    Green c;
    OK(cuCtxSetCurrent(nullptr));
    const CUresult e = c.destroy();
    OK(cuCtxSetCurrent(g.ctx));
    r.k("destroy", e);
  });

  add("green.primary_reset", ISO | SLOW, [](Rec& r) {
    Green c;
    const CUcontext as = c.context();
    GreenStream s(c);
    r.k("reset", cuDevicePrimaryCtxReset(g.dev));
    CUdevResource part{};
    r.k("resource", cuGreenCtxGetDevResource(c, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("query", cuStreamQuery(s));
    r.k("set", cuCtxSetCurrent(as));
    CUdeviceptr p = 0;
    r.k("alloc", cuMemAlloc(&p, 64));
  });
}

}  // namespace weir::conformance
