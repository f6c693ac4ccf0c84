// SPDX-License-Identifier: Apache-2.0
// cases/context/init_context.cpp - calls without a current context: which need one.
#include "probe/probe.hpp"

#include <utility>

namespace weir::conformance {

void init_context_cases() {
  add("init.no_context_objects", RAW, [](Rec& r) {
    init_device();
    CUcontext c = reinterpret_cast<CUcontext>(1);
    r.k("ctx_get_current", cuCtxGetCurrent(&c));
    r.k("current_null", c == nullptr);
    CUstream s = nullptr;
    CUevent e = nullptr;
    CUdeviceptr p = 0;
    void* h = nullptr;
    CUdevice d;
    r.k("ctx_get_device", cuCtxGetDevice(&d));
    r.k("ctx_sync", cuCtxSynchronize());
    unsigned fl = 0;
    r.k("ctx_get_flags", cuCtxGetFlags(&fl));
    int a = 0, b = 0;
    r.k("priority_range", cuCtxGetStreamPriorityRange(&a, &b));
    unsigned long long id = 0;
    r.k("ctx_get_id", cuCtxGetId(nullptr, &id));
    size_t lim = 0;
    r.k("ctx_get_limit", cuCtxGetLimit(&lim, CU_LIMIT_STACK_SIZE));
    r.k("pop", cuCtxPopCurrent(&c));
    r.k("stream_create", cuStreamCreate(&s, 0));
    r.k("event_create", cuEventCreate(&e, 0));
    r.k("mem_alloc", cuMemAlloc(&p, 16));
    r.k("mem_free_null", cuMemFree(0));
    r.k("mem_get_info", cuMemGetInfo(&lim, &lim));
    r.k("host_alloc", cuMemHostAlloc(&h, 16, 0));
    r.k("mem_alloc_managed", cuMemAllocManaged(&p, 16, CU_MEM_ATTACH_GLOBAL));
    static char buf[8192];
    r.k("host_register", cuMemHostRegister(buf, 4096, 0));
    CUmemoryPool pool = nullptr;
    r.k("default_pool", cuDeviceGetDefaultMemPool(&pool, 0));
    r.k("pool_alloc", pool ? cuMemAllocFromPoolAsync(&p, 16, pool, nullptr) : CUDA_ERROR_UNKNOWN);
    r.k("mem_alloc_async", cuMemAllocAsync(&p, 16, nullptr));
  });

  add("init.no_context_streams", RAW, [](Rec& r) {
    init_device();
    const std::pair<const char*, CUstream> hs[] = {
        {"null", nullptr}, {"legacy", LEGACY}, {"per_thread", PER_THREAD}};
    for (auto& [n, s] : hs) {
      std::string k = n;
      r.k(k + ".query", cuStreamQuery(s));
      r.k(k + ".sync", cuStreamSynchronize(s));
      unsigned f = 0;
      int pr = 0;
      unsigned long long id = 0;
      CUcontext c = nullptr;
      CUdevice d = 0;
      CUstreamCaptureStatus st;
      r.k(k + ".flags", cuStreamGetFlags(s, &f));
      r.k(k + ".priority", cuStreamGetPriority(s, &pr));
      r.k(k + ".id", cuStreamGetId(s, &id));
      r.k(k + ".ctx", cuStreamGetCtx(s, &c));
      r.k(k + ".device", cuStreamGetDevice(s, &d));
      r.k(k + ".capturing", cuStreamIsCapturing(s, &st));
      r.k(k + ".begin", cuStreamBeginCapture(s, GLOBAL));
      r.k(k + ".host_func", cuLaunchHostFunc(s, label_fn, new_label("x")));
    }
  });

  add("init.no_context_graph", RAW, [](Rec& r) {
    init_device();
    CUgraph gr = nullptr;
    r.k("create", cuGraphCreate(&gr, 0));
    if (!gr) return;
    CUgraphNode n = nullptr, m = nullptr;
    r.k("empty", cuGraphAddEmptyNode(&n, gr, nullptr, 0));
    CUDA_HOST_NODE_PARAMS hp{};
    hp.fn = label_fn;
    hp.userData = new_label("a");
    r.k("host", cuGraphAddHostNode(&m, gr, nullptr, 0, &hp));
    CUDA_MEMSET_NODE_PARAMS mp = memset_params(0x1000, 1);
    r.k("memset_null_ctx", cuGraphAddMemsetNode(&m, gr, nullptr, 0, &mp, nullptr));
    CUgraph cl = nullptr;
    r.k("clone", cuGraphClone(&cl, gr));
    CUgraphExec x = nullptr;
    CUresult e = r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
    if (e == CUDA_SUCCESS) {
      r.k("launch_null", cuGraphLaunch(x, nullptr));
      r.k("exec_destroy", cuGraphExecDestroy(x));
    }
    r.k("destroy", cuGraphDestroy(gr));
  });
}

}  // namespace weir::conformance
