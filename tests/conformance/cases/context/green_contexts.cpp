// SPDX-License-Identifier: Apache-2.0
// cases/context/green_contexts.cpp - green contexts: created, made current, queried.
#include "cases/context/greens.hpp"

#include <set>

namespace weir::conformance {
void green_contexts_cases() {
  add("green.create", SLOW, [](Rec& r) {
    const CUdevResourceDesc desc = desc_of(sms());
    for (unsigned flags : {0u, 1u, 2u, 3u, 0x80000000u}) {
      CUgreenCtx c = nullptr;
      r.k("f" + std::to_string(flags), cuGreenCtxCreate(&c, desc, g.dev, flags));
      r.k("f" + std::to_string(flags) + ".made", c != nullptr);
      if (c) cuGreenCtxDestroy(c);
    }
    r.k("still_current", current_context() == g.ctx);
    CUgreenCtx c = nullptr;
    r.k("null_out", cuGreenCtxCreate(nullptr, desc, g.dev, kDefaultStream));
    r.k("bad_dev", cuGreenCtxCreate(&c, desc, 99, kDefaultStream));
    r.k("neg_dev", cuGreenCtxCreate(&c, desc, -1, kDefaultStream));
    r.k("bad_dev_flags", cuGreenCtxCreate(&c, desc, 99, 0));
    r.k("bad_dev_null_out", cuGreenCtxCreate(nullptr, desc, 99, kDefaultStream));
    r.k("null_out_flags", cuGreenCtxCreate(nullptr, desc, g.dev, 0));
    r.k("kept_null", c == nullptr);
  });
  add("green.create_null_desc", ISO, [](Rec& r) {
    CUgreenCtx c = nullptr;
    r.k("bad_flags", cuGreenCtxCreate(&c, nullptr, g.dev, 0));
    r.k("res", cuGreenCtxCreate(&c, nullptr, g.dev, kDefaultStream));
  });
  add("green.create_twice_of_one_desc", SLOW, [](Rec& r) {
    const CUdevResourceDesc desc = desc_of(sms());
    CUgreenCtx a = nullptr, b = nullptr;
    r.k("first", cuGreenCtxCreate(&a, desc, g.dev, kDefaultStream));
    r.k("second", cuGreenCtxCreate(&b, desc, g.dev, kDefaultStream));
    r.k("differ", a != b);
    r.k("destroy_b", cuGreenCtxDestroy(b));
    r.k("destroy_a", cuGreenCtxDestroy(a));
  });
  add("green.retains_primary", RAW | SLOW, [](Rec& r) {
    init_device();
    unsigned f = 0;
    int active = -1;
    CUgreenCtx c = nullptr;
    r.k("create", cuGreenCtxCreate(&c, desc_of(sms()), g.dev, kDefaultStream));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &active));
    r.k("active", active);
    r.k("current", which(current_context(), nullptr));
    r.k("release", cuDevicePrimaryCtxRelease(g.dev));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &active));
    r.k("active_after_release", active);
    r.k("destroy", cuGreenCtxDestroy(c));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &active));
    r.k("active_after_destroy", active);
  });

  add("green.null_handles", [](Rec& r) {
    CUcontext c = nullptr;
    CUdevResource part{};
    unsigned long long id = 0;
    Event e;
    CUstream s = nullptr;
    r.k("destroy", cuGreenCtxDestroy(nullptr));
    r.k("context", cuCtxFromGreenCtx(&c, nullptr));
    r.k("resource", cuGreenCtxGetDevResource(nullptr, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("record", cuGreenCtxRecordEvent(nullptr, e));
    r.k("wait", cuGreenCtxWaitEvent(nullptr, e));
    r.k("stream", cuGreenCtxStreamCreate(&s, nullptr, NB, 0));
    r.k("id_in_primary", cuGreenCtxGetId(nullptr, &id));
  });
  add("green.null_outs", SLOW, [](Rec& r) {
    Green c;
    r.k("context", cuCtxFromGreenCtx(nullptr, c));
    r.k("context_both", cuCtxFromGreenCtx(nullptr, nullptr));
    r.k("resource", cuGreenCtxGetDevResource(c, nullptr, CU_DEV_RESOURCE_TYPE_SM));
    r.k("resource_both", cuGreenCtxGetDevResource(nullptr, nullptr, CU_DEV_RESOURCE_TYPE_SM));
    r.k("ctx_resource", cuCtxGetDevResource(g.ctx, nullptr, CU_DEV_RESOURCE_TYPE_SM));
    r.k("stream", cuGreenCtxStreamCreate(nullptr, c, NB, 0));
    r.k("id", cuGreenCtxGetId(c, nullptr));
    r.k("record", cuGreenCtxRecordEvent(c, nullptr));
    r.k("wait", cuGreenCtxWaitEvent(c, nullptr));
    r.k("get_green", cuStreamGetGreenCtx(nullptr, nullptr));
  });

  add("green.resource_of", SLOW, [](Rec& r) {
    Green c(24);
    const CUcontext as = c.context();
    CUdevResource part{};
    r.k("green", cuGreenCtxGetDevResource(c, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("green.is", text_of(part));
    r.k("context", cuCtxGetDevResource(as, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("context.is", text_of(part));
    r.k("primary", cuCtxGetDevResource(g.ctx, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("primary.is", text_of(part));
    part = {};
    r.k("null", cuCtxGetDevResource(nullptr, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("null.is", text_of(part));
    for (int type : {0, 2, 1000}) {
      r.k("green_type" + std::to_string(type),
          cuGreenCtxGetDevResource(c, &part, static_cast<CUdevResourceType>(type)));
      r.k("ctx_type" + std::to_string(type),
          cuCtxGetDevResource(g.ctx, &part, static_cast<CUdevResourceType>(type)));
    }
    Current cur(as);
    part = {};
    r.k("null_in_green", cuCtxGetDevResource(nullptr, &part, CU_DEV_RESOURCE_TYPE_SM));
    r.k("null_in_green.is", text_of(part));
    r.k("device_in_green", text_of(all_sms()));
    int count = 0;
    OK(cuDeviceGetAttribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, g.dev));
    r.k("attribute_in_green", count);
  });

  add("green.context", SLOW, [](Rec& r) {
    Green c;
    CUcontext a = nullptr, b = nullptr;
    r.k("from", cuCtxFromGreenCtx(&a, c));
    r.k("again", cuCtxFromGreenCtx(&b, c));
    r.k("same", a == b);
    r.k("is", a == g.ctx ? "primary" : "own");
    r.k("is_handle", reinterpret_cast<void*>(a) == reinterpret_cast<void*>(c.h));
    CUdevice d = -1;
    r.k("device", cuCtxGetDevice_v2(&d, a));
    r.k("device_same", d == g.dev);
    unsigned v = 0, v_primary = 0;
    r.k("api_version", cuCtxGetApiVersion(a, &v));
    OK(cuCtxGetApiVersion(g.ctx, &v_primary));
    r.k("api_version_same", v == v_primary);
    unsigned long long id = 0, green_id = 0, primary_id = 0;
    r.k("ctx_id", cuCtxGetId(a, &id));
    r.k("green_id", cuGreenCtxGetId(c, &green_id));
    OK(cuCtxGetId(g.ctx, &primary_id));
    r.k("ids", std::string(id == green_id ? "ctx=green" : "ctx!=green") +
                   (id == primary_id ? ",ctx=primary" : ""));
    r.k("set", cuCtxSetCurrent(a));
    r.k("current", which(current_context(), a));
    CUcontext popped = nullptr;
    r.k("push", cuCtxPushCurrent(a));
    r.k("pop", cuCtxPopCurrent(&popped));
    r.k("popped", which(popped, a));
    unsigned f = 99;
    r.k("flags", cuCtxGetFlags(&f));
    r.k("flags_value", f);
    r.k("sync", cuCtxSynchronize());
    r.k("sync_v2", cuCtxSynchronize_v2(a));
    OK(cuCtxSetCurrent(g.ctx));
  });
  add("green.context_destroy", ISO | SLOW, [](Rec& r) {
    Green c;
    const CUcontext as = c.context();
    r.k("destroy", cuCtxDestroy(as));
    CUdevResource part{};
    r.k("resource", cuGreenCtxGetDevResource(c, &part, CU_DEV_RESOURCE_TYPE_SM));
  });

  add("green.ids", SLOW, [](Rec& r) {
    std::set<unsigned long long> seen;
    unsigned long long id = 0;
    Green a, b;
    OK(cuGreenCtxGetId(a, &id));
    r.k("a_new", seen.insert(id).second);
    r.k("a_again", cuGreenCtxGetId(a, &id));
    r.k("a_same", !seen.insert(id).second);
    OK(cuGreenCtxGetId(b, &id));
    r.k("b_new", seen.insert(id).second);
    OK(cuCtxGetId(g.ctx, &id));
    r.k("primary_new", seen.insert(id).second);
    Current cur(a.context());
    r.k("null_in_a", cuGreenCtxGetId(nullptr, &id));
    unsigned long long of_a = 0;
    OK(cuGreenCtxGetId(a, &of_a));
    r.k("null_is_a", id == of_a);
    unsigned long long current_id = 0;
    r.k("ctx_id_null", cuCtxGetId(nullptr, &current_id));
    r.k("ctx_id_is_a", current_id == of_a);
  });

  add("green.current_on_two_threads", SLOW, [](Rec& r) {
    Green c;
    const CUcontext as = c.context();
    Current cur(as);
    on_thread(
        [&] {
          r.k("set", cuCtxSetCurrent(as));
          CUdevice d = -1;
          r.k("device", cuCtxGetDevice(&d));
          CUdeviceptr p = 0;
          r.k("alloc", cuMemAlloc(&p, 64));
          if (p) cuMemFree(p);
        },
        false);
    r.k("here", cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
