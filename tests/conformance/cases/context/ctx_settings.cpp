// SPDX-License-Identifier: Apache-2.0
// cases/context/ctx_settings.cpp - limits with unusual values, flags, preferences and other
// settings of a context.
#include "probe/probe.hpp"

#include <limits>

namespace weir::conformance {

void ctx_settings_cases() {
  // Records the effect of each value; none exceeds a device's memory.
  for (int limit = 0; limit < 11; limit++)
    add("ctx.limit_values." + std::to_string(limit), ISO, [limit](Rec& r) {
      const CUlimit which = static_cast<CUlimit>(limit);
      size_t v = 77;
      r.k("initial", cuCtxGetLimit(&v, which));
      r.k(limit == 6 || limit == 7 ? "~initial_value" : "initial_value", v);
      for (size_t value :
           {size_t{0},    size_t{1},    size_t{15},  size_t{16},   size_t{17},   size_t{31},
            size_t{33},   size_t{63},   size_t{64},  size_t{65},   size_t{127},  size_t{128},
            size_t{129},  size_t{255},  size_t{257}, size_t{1000}, size_t{1023}, size_t{1025},
            size_t{2047}, size_t{2049}, size_t{4097}}) {
        r.k("set" + std::to_string(value), cuCtxSetLimit(which, value));
        v = 77;
        cuCtxGetLimit(&v, which);
        r.k("got" + std::to_string(value), v);
      }
    });
  add("ctx.limit_values.far", ISO, [](Rec& r) {
    const std::pair<CUlimit, size_t> device1[] = {
        {CU_LIMIT_STACK_SIZE, 64 << 10},
        {CU_LIMIT_STACK_SIZE, (512 << 10) + 1},
        {CU_LIMIT_STACK_SIZE, std::numeric_limits<size_t>::max()},
        {CU_LIMIT_PRINTF_FIFO_SIZE, (1 << 20) + 1},
        {CU_LIMIT_MALLOC_HEAP_SIZE, (16 << 20) + 1},
        {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 5000},
        {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 1 << 20},
        {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, std::numeric_limits<size_t>::max()},
        {CU_LIMIT_SHMEM_SIZE, 1 << 20},
        {CU_LIMIT_CIG_ENABLED, 2}};
    int i = 0;
    for (const auto& [which, value] : device1) {
      const std::string key = std::to_string(i++) + ".of" + std::to_string(static_cast<int>(which));
      r.k(key, cuCtxSetLimit(which, value));
      size_t v = 77;
      cuCtxGetLimit(&v, which);
      r.k(which == CU_LIMIT_PERSISTING_L2_CACHE_SIZE || which == CU_LIMIT_SHMEM_SIZE
              ? "~" + key + ".got"
              : key + ".got",
          v);
    }
  });
  add("ctx.limit_of_no_context", [](Rec& r) {
    OK(cuCtxSetCurrent(nullptr));
    size_t v = 0;
    const CUresult get = cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE);
    const CUresult get_null = cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE);
    const CUresult get_bad = cuCtxGetLimit(&v, static_cast<CUlimit>(99));
    const CUresult set = cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024);
    const CUresult set_bad = cuCtxSetLimit(static_cast<CUlimit>(99), 1024);
    OK(cuCtxSetCurrent(g.ctx));
    r.k("get", get);
    r.k("get_null", get_null);
    r.k("get_bad", get_bad);
    r.k("set", set);
    r.k("set_bad", set_bad);
  });
  add("ctx.limit_per_context", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    size_t v = 0;
    {
      Current cur(o);
      OK(cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE));
      r.k("other", v);
    }
    OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024));
  });

  add("ctx.cache_configs", [](Rec& r) {
    for (int config : {0, 1, 2, 3, 4, 99, -1}) {
      r.k("set" + std::to_string(config), cuCtxSetCacheConfig(static_cast<CUfunc_cache>(config)));
      CUfunc_cache got = static_cast<CUfunc_cache>(77);
      OK(cuCtxGetCacheConfig(&got));
      r.k("got" + std::to_string(config), static_cast<int>(got));
    }
    cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE);
    r.k("null", cuCtxGetCacheConfig(nullptr));
  });
  add("ctx.shared_configs", [](Rec& r) {
    CUsharedconfig got = static_cast<CUsharedconfig>(77);
    r.k("initial", cuCtxGetSharedMemConfig(&got));
    r.k("initial_value", static_cast<int>(got));
    for (int config : {0, 1, 2, 3, 99, -1}) {
      r.k("set" + std::to_string(config),
          cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(config)));
      got = static_cast<CUsharedconfig>(77);
      OK(cuCtxGetSharedMemConfig(&got));
      r.k("got" + std::to_string(config), static_cast<int>(got));
    }
    cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE);
    r.k("null", cuCtxGetSharedMemConfig(nullptr));
  });
  add("ctx.settings_of_no_context", [](Rec& r) {
    OK(cuCtxSetCurrent(nullptr));
    CUfunc_cache cache{};
    CUsharedconfig shared{};
    CUexecAffinityParam affinity{};
    unsigned f = 0, version = 0;
    int least = 0;
    CUdevice device = 0;
    const std::pair<const char*, CUresult> answers[] = {
        {"get_cache", cuCtxGetCacheConfig(&cache)},
        {"set_cache", cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE)},
        {"set_cache_bad", cuCtxSetCacheConfig(static_cast<CUfunc_cache>(99))},
        {"get_shared", cuCtxGetSharedMemConfig(&shared)},
        {"set_shared", cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE)},
        {"affinity", cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT)},
        {"get_flags", cuCtxGetFlags(&f)},
        {"set_flags", cuCtxSetFlags(0)},
        {"set_flags_bad", cuCtxSetFlags(3)},
        {"api_version", cuCtxGetApiVersion(nullptr, &version)},
        {"api_version_primary", cuCtxGetApiVersion(g.ctx, &version)},
        {"priorities", cuCtxGetStreamPriorityRange(&least, nullptr)},
        {"priorities_null", cuCtxGetStreamPriorityRange(nullptr, nullptr)},
        {"reset_l2", cuCtxResetPersistingL2Cache()},
        {"device", cuCtxGetDevice(&device)},
        {"device_null", cuCtxGetDevice(nullptr)},
        {"sync", cuCtxSynchronize()},
        {"sync_v2", cuCtxSynchronize_v2(nullptr)},
        {"enable_peer", cuCtxEnablePeerAccess(g.ctx, 0)},
        {"disable_peer", cuCtxDisablePeerAccess(g.ctx)},
    };
    OK(cuCtxSetCurrent(g.ctx));
    for (const auto& [key, e] : answers) r.k(key, e);
  });
  add("ctx.settings_nulls", [](Rec& r) {
    unsigned v = 0;
    CUdevice d = 0;
    CUexecAffinityParam affinity{};
    r.k("priorities", cuCtxGetStreamPriorityRange(nullptr, nullptr));
    r.k("api_version_null_ctx", cuCtxGetApiVersion(nullptr, &v));
    r.k("device_v2_null_ctx", cuCtxGetDevice_v2(&d, nullptr));
    r.k("device_v2_null_out", cuCtxGetDevice_v2(nullptr, g.ctx));
    r.k("id_null_out", cuCtxGetId(g.ctx, nullptr));
    r.k("sync_v2_null", cuCtxSynchronize_v2(nullptr));
    r.k("affinity", cuCtxGetExecAffinity(&affinity, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
    r.k("~affinity_sms", affinity.param.smCount.val);
    int sms = 0;
    OK(cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, g.dev));
    r.k("affinity_is_all", static_cast<int>(affinity.param.smCount.val) == sms);
    r.k("affinity_type", static_cast<int>(affinity.type));
    for (int type : {1, 2, 99, -1})
      r.k("affinity" + std::to_string(type),
          cuCtxGetExecAffinity(&affinity, static_cast<CUexecAffinityType>(type)));
    r.k("affinity_null", cuCtxGetExecAffinity(nullptr, CU_EXEC_AFFINITY_TYPE_SM_COUNT));
    r.k("reset_l2", cuCtxResetPersistingL2Cache());
  });
  add("ctx.api_version_null_out", ISO,
      [](Rec& r) { r.k("res", cuCtxGetApiVersion(g.ctx, nullptr)); });

  add("ctx.flags_values", ISO, [](Rec& r) {
    for (unsigned flags :
         {0u,    1u,    2u,    3u,    4u,    5u,    6u,    7u,     8u,     9u,
          0x10u, 0x14u, 0x20u, 0x40u, 0x80u, 0x84u, 0xf8u, 0x100u, 0x104u, 0x80000000u}) {
      r.k("set" + std::to_string(flags), cuCtxSetFlags(flags));
      unsigned got = 999;
      OK(cuCtxGetFlags(&got));
      r.k("got" + std::to_string(flags), got);
    }
    unsigned primary = 999;
    int active = 0;
    OK(cuDevicePrimaryCtxGetState(g.dev, &primary, &active));
    r.k("state", primary);
  });

  add("ctx.create_params", RAW | SLOW, [](Rec& r) {
    init_device();
    CUcontext c = nullptr;
    CUexecAffinityParam affinity{};
    affinity.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    affinity.param.smCount.val = 8;
    const auto create = [&](const char* key, CUctxCreateParams params, unsigned flags = 0,
                            int device = 0) {
      if (r.k(key, cuCtxCreate(&c, &params, flags, device)) == CUDA_SUCCESS) cuCtxDestroy(c);
    };
    create("zeros", {});
    create("count_null", {nullptr, 1, nullptr});
    create("negative_count", {nullptr, -1, nullptr});
    create("array_of_none", {&affinity, 0, nullptr});
    create("eight_sms", {&affinity, 1, nullptr});
    affinity.param.smCount.val = 0;
    create("zero_sms", {&affinity, 1, nullptr});
    affinity.param.smCount.val = 100000;
    create("too_many_sms", {&affinity, 1, nullptr});
    affinity.type = static_cast<CUexecAffinityType>(9);
    create("unknown_affinity", {&affinity, 1, nullptr});
    create("bad_flags", {&affinity, 1, nullptr}, 3);
    create("bad_dev", {&affinity, 1, nullptr}, 0, 99);
    CUctxCreateParams none{};
    r.k("null_out", cuCtxCreate(nullptr, &none, 0, 0));
    r.k("null_out_bad_dev", cuCtxCreate(nullptr, &none, 0, 99));
    r.k("null_out_bad_flags", cuCtxCreate(nullptr, &none, 3, 0));
  });
  add("ctx.create_for_graphics", RAW | SLOW, [](Rec& r) {
    init_device();
    CUcontext c = nullptr;
    for (int type : {0, 1, 2, 9}) {
      CUctxCigParam cig{};
      cig.sharedDataType = static_cast<CUcigDataType>(type);
      CUctxCreateParams params{nullptr, 0, &cig};
      if (r.k("type" + std::to_string(type), cuCtxCreate(&c, &params, 0, g.dev)) == CUDA_SUCCESS)
        cuCtxDestroy(c);
    }
  });
  for (unsigned f : {0x18u, 0x20u, 0x40u, 0x60u, 0x84u, 0xfcu})
    add("ctx.create_flags." + std::to_string(f), RAW | SLOW, [f](Rec& r) {
      init_device();
      CUcontext c = nullptr;
      if (r.k("create", cuCtxCreate(&c, nullptr, f, g.dev)) != CUDA_SUCCESS) return;
      unsigned got = 999;
      r.k("get", cuCtxGetFlags(&got));
      r.k("flags", got);
    });

  add("ctx.peer_same_device", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    r.k("self", cuCtxEnablePeerAccess(g.ctx, 0));
    r.k("other", cuCtxEnablePeerAccess(o, 0));
    r.k("flags1", cuCtxEnablePeerAccess(o, 1));
    r.k("null", cuCtxEnablePeerAccess(nullptr, 0));
    r.k("null_flags1", cuCtxEnablePeerAccess(nullptr, 1));
    r.k("disable_self", cuCtxDisablePeerAccess(g.ctx));
    r.k("disable_other", cuCtxDisablePeerAccess(o));
    r.k("disable_null", cuCtxDisablePeerAccess(nullptr));
  });

  add("ctx.record_event_arguments", SECOND_CONTEXT, [](Rec& r) {
    OtherCtx o;
    Event e, timed(0);
    Stream s(NB);
    r.k("timed", cuCtxRecordEvent(g.ctx, timed));
    r.k("timed.sync", cuEventSynchronize(timed));
    OK(cuEventRecord(timed, s));
    OK(cuEventSynchronize(timed));
    Event end(0);
    OK(cuCtxRecordEvent(g.ctx, end));
    OK(cuEventSynchronize(end));
    float ms = -1;
    r.k("elapsed", cuEventElapsedTime(&ms, timed, end));
    r.k("null_event", cuCtxRecordEvent(g.ctx, nullptr));
    r.k("null_ctx", cuCtxRecordEvent(nullptr, e));
    r.k("null_both", cuCtxRecordEvent(nullptr, nullptr));
    r.k("other_ctx", cuCtxRecordEvent(o, e));
    r.k("wait_null_event", cuCtxWaitEvent(g.ctx, nullptr));
    r.k("wait_null_ctx", cuCtxWaitEvent(nullptr, e));
    r.k("wait_unrecorded", cuCtxWaitEvent(g.ctx, e));
    r.k("wait_other_ctx", cuCtxWaitEvent(o, timed));
    OK(cuCtxSetCurrent(nullptr));
    const CUresult record = cuCtxRecordEvent(g.ctx, e);
    const CUresult wait = cuCtxWaitEvent(g.ctx, e);
    OK(cuCtxSetCurrent(g.ctx));
    r.k("record_no_current", record);
    r.k("wait_no_current", wait);
  });
}

}  // namespace weir::conformance
