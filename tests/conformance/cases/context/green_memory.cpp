// SPDX-License-Identifier: Apache-2.0
// cases/context/green_memory.cpp - memory and settings of green contexts, and what they share with
// the primary context.
#include "cases/context/greens.hpp"

namespace weir::conformance {

void green_memory_cases() {
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
    r.k("limit_in_primary", value == before          ? "as_before"
                            : value == before + 1024 ? "as_in_green"
                                                     : "other");
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
}

}  // namespace weir::conformance
