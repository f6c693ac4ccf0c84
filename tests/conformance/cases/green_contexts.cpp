// cases/green_contexts.cpp - green contexts: made, current, asked, destroyed.
#include "cases/greens.hpp"

#include <set>
#include <thread>

namespace weir::conformance {
namespace {

constexpr unsigned kDefaultStream = CU_GREEN_CTX_DEFAULT_STREAM;

// Which of the known contexts a handle is.
std::string which(CUcontext c, CUcontext green) {
  return c == nullptr ? "null" : c == g.ctx ? "primary" : c == green ? "green" : "other";
}

CUcontext current() {
  CUcontext c = nullptr;
  OK(cuCtxGetCurrent(&c));
  return c;
}

}  // namespace

void green_contexts_cases() {
  add("green.create", SLOW, [](Rec& r) {
    const CUdevResourceDesc desc = desc_of(sms());
    for (unsigned flags : {0u, 1u, 2u, 3u, 0x80000000u}) {
      CUgreenCtx c = nullptr;
      r.k("f" + std::to_string(flags), cuGreenCtxCreate(&c, desc, g.dev, flags));
      r.k("f" + std::to_string(flags) + ".made", c != nullptr);
      if (c) cuGreenCtxDestroy(c);
    }
    r.k("still_current", current() == g.ctx);
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
    r.k("current", which(current(), nullptr));
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
      r.k("ctx_type" + std::to_string(type), cuCtxGetDevResource(g.ctx, &part, static_cast<CUdevResourceType>(type)));
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
    r.k("ids", std::string(id == green_id ? "ctx=green" : "ctx!=green") + (id == primary_id ? ",ctx=primary" : ""));
    r.k("set", cuCtxSetCurrent(a));
    r.k("current", which(current(), a));
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

  add("green.memory", SLOW, [](Rec& r) {
    Green c;
    const CUcontext as = c.context();
    CUdeviceptr p = 0;
    CUcontext of = nullptr;
    {
      Current cur(as);
      r.k("alloc", cuMemAlloc(&p, 256));
      r.k("attr", cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, p));
      r.k("belongs", which(of, as));
      size_t free_bytes = 0, total = 0, total_primary = 0;
      r.k("info", cuMemGetInfo(&free_bytes, &total));
      OK(cuDeviceTotalMem(&total_primary, g.dev));
      r.k("~total_same", total == total_primary);
    }
    Stream s(NB);
    r.k("use_in_primary", cuMemsetD8Async(p, 1, 256, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("free_in_primary", cuMemFree(p));
    p = 0;
    void* host = nullptr;
    {
      Current cur(as);
      r.k("host_alloc", cuMemHostAlloc(&host, 64, 0));
      r.k("use_primary_memory", cuMemsetD8(g.dbuf, 0, 64));
    }
    r.k("host_free", cuMemFreeHost(host));
    OK(cuMemAlloc(&p, 64));
    {
      Current cur(as);
      r.k("free_in_green", cuMemFree(p));
    }
  });
  add("green.destroy_frees_memory", ISO | SLOW, [](Rec& r) {
    Green c;
    CUdeviceptr p = 0;
    {
      Current cur(c.context());
      OK(cuMemAlloc(&p, 256));
    }
    r.k("destroy", c.destroy());
    unsigned type = 0;
    r.k("attr_after", cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p));
    r.k("memset_after", cuMemsetD8(p, 1, 256));
    r.k("free_after", cuMemFree(p));
  });

  add("green.settings", SLOW, [](Rec& r) {
    Green c;
    size_t before = 0, value = 0;
    OK(cuCtxGetLimit(&before, CU_LIMIT_STACK_SIZE));
    {
      Current cur(c.context());
      r.k("get_limit", cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
      r.k("limit_same", value == before);
      r.k("set_limit", cuCtxSetLimit(CU_LIMIT_STACK_SIZE, before + 1024));
      OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
      r.k("limit_set", value == before + 1024);
      r.k("set_cache", cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
      int lo = 9, hi = 9;
      r.k("priorities", cuCtxGetStreamPriorityRange(&lo, &hi));
      r.k("least", lo);
      r.k("greatest", hi);
      CUexecAffinityParam affinity{};
      r.k("affinity", cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
      r.k("affinity_value", affinity.param.smCount.val);
      r.k("set_flags", cuCtxSetFlags(CU_CTX_SCHED_YIELD));
      unsigned f = 0;
      OK(cuCtxGetFlags(&f));
      r.k("flags", f);
      OK(cuCtxSetFlags(0));
      r.k("peer_of_primary", cuCtxEnablePeerAccess(g.ctx, 0));
      r.k("reset_l2", cuCtxResetPersistingL2Cache());
    }
    OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
    r.k("limit_in_primary", value == before ? "as_before" : value == before + 1024 ? "as_in_green" : "other");
    CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
    OK(cuCtxGetCacheConfig(&cache));
    r.k("cache_in_primary", static_cast<int>(cache));
    cuCtxSetLimit(CU_LIMIT_STACK_SIZE, before);
    cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE);
    unsigned f = 0;
    OK(cuCtxGetFlags(&f));
    r.k("primary_flags", f);
    r.k("peer_of_green", cuCtxEnablePeerAccess(c.context(), 0));
  });

  add("green.destroy_while_current", ISO | SLOW, [](Rec& r) {
    Green c;
    const CUcontext as = c.context();
    OK(cuCtxSetCurrent(as));
    r.k("destroy", c.destroy());
    r.k("current", which(current(), as));
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
      gone.wait_size(1, kSurelyMs);
      CUdeviceptr p = 0;
      r.k("alloc", cuMemAlloc(&p, 64));
      CUcontext popped = nullptr;
      r.k("pop", cuCtxPopCurrent(&popped));
    });
    set.wait_size(1, kSurelyMs);
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

  // Who keeps the primary context alive, and who ends it.
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
