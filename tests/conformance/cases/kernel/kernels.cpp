// SPDX-License-Identifier: Apache-2.0
// cases/kernel/kernels.cpp - kernels for cases: a module, and wrappers that launch from it.
#include "cases/kernel/kernels.hpp"

#include "probe/images.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

const char* const kPtx = R"(
.version 7.0
.target sm_75
.address_size 64

.visible .entry store(.param .u64 p, .param .u32 v)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [v];
  st.volatile.u32 [%rd1], %r1;
  membar.sys;
  ret;
}

.visible .entry addone(.param .u64 p)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [p];
  ld.volatile.u32 %r1, [%rd1];
  add.u32 %r2, %r1, 1;
  st.volatile.u32 [%rd1], %r2;
  membar.sys;
  ret;
}

.visible .entry spin(.param .u64 p, .param .u64 cycles)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<6>;
  .reg .pred %q<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u64 %rd2, [cycles];
  mov.u64 %rd3, %clock64;
LOOP:
  ld.volatile.u32 %r1, [%rd1];
  setp.ne.u32 %q1, %r1, 0;
  @%q1 bra DONE;
  mov.u64 %rd4, %clock64;
  sub.u64 %rd5, %rd4, %rd3;
  setp.lt.u64 %q2, %rd5, %rd2;
  @%q2 bra LOOP;
DONE:
  ret;
}

.visible .entry fault()
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<2>;
  mov.u64 %rd1, 4096;
  mov.u32 %r1, 1;
  st.volatile.global.u32 [%rd1], %r1;
  ret;
}

.visible .entry misaligned(.param .u64 p)
{
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [p];
  add.u64 %rd2, %rd1, 1;
  mov.u32 %r1, 1;
  st.volatile.global.u32 [%rd2], %r1;
  ret;
}

.visible .entry trapped()
{
  trap;
  ret;
}

.visible .global .align 4 .u32 word = 17;

.visible .entry empty()
{
  ret;
}
)";

}  // namespace

const void* kernels_module() { return module_code("kernels", kPtx); }

Kernels load_kernels() {
  Kernels k;
  OK(cuModuleLoadData(&k.m, kernels_module()));
  OK(cuModuleGetFunction(&k.store, k.m, "store"));
  OK(cuModuleGetFunction(&k.addone, k.m, "addone"));
  OK(cuModuleGetFunction(&k.spin, k.m, "spin"));
  OK(cuModuleGetFunction(&k.fault, k.m, "fault"));
  OK(cuModuleGetFunction(&k.misaligned, k.m, "misaligned"));
  OK(cuModuleGetFunction(&k.trapped, k.m, "trapped"));
  OK(cuModuleGetFunction(&k.empty, k.m, "empty"));
  return k;
}
Kernels& kern() {
  static bool loaded = false;
  static Kernels k;
  if (!loaded) {
    k = load_kernels();
    loaded = true;
    // runs each kernel that cannot fail once, so that nothing is loaded while a gate is closed
    Cell c = new_cell(1);
    CUdeviceptr d = c.d;
    unsigned v = 1;
    unsigned long long cy = 1;
    void* a1[] = {&d, &v};
    void* a2[] = {&d};
    void* a3[] = {&d, &cy};
    OK(cuLaunchKernel(k.store, 1, 1, 1, 1, 1, 1, 0, nullptr, a1, nullptr));
    OK(cuLaunchKernel(k.addone, 1, 1, 1, 1, 1, 1, 0, nullptr, a2, nullptr));
    OK(cuLaunchKernel(k.spin, 1, 1, 1, 1, 1, 1, 0, nullptr, a3, nullptr));
    OK(cuLaunchKernel(k.empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    OK(cuCtxSynchronize());
  }
  return k;
}
CUresult k_store(CUstream s, const Cell& c, unsigned v) {
  CUdeviceptr d = c.d;
  void* a[] = {&d, &v};
  return cuLaunchKernel(kern().store, 1, 1, 1, 1, 1, 1, 0, s, a, nullptr);
}
CUresult k_addone(CUstream s, const Cell& c) {
  CUdeviceptr d = c.d;
  void* a[] = {&d};
  return cuLaunchKernel(kern().addone, 1, 1, 1, 1, 1, 1, 0, s, a, nullptr);
}
CUresult k_plain(CUfunction f, CUstream s) {
  return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, nullptr, nullptr);
}

KGate::KGate() : cell_(new_cell(0)) {
  on_release([c = cell_] { c.set(1); });
}
void KGate::arm(CUstream s) {
  CUdeviceptr d = cell_.d;
  unsigned long long cycles = 12000000000ull;
  void* a[] = {&d, &cycles};
  OK(cuLaunchKernel(kern().spin, 1, 1, 1, 1, 1, 1, 0, s, a, nullptr));
}

CUgraphNode add_store(CUgraph gr, const Nodes& deps, CUdeviceptr d, unsigned v) {
  CUDA_KERNEL_NODE_PARAMS p;
  memset(&p, 0, sizeof p);
  void* a[] = {&d, &v};
  p.func = kern().store;
  p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
  p.kernelParams = a;
  CUgraphNode n = nullptr;
  OK(cuGraphAddKernelNode(&n, gr, deps.data(), deps.size(), &p));
  return n;
}

namespace {

// Records what calls return after a sticky error.
void rec_sticky(Rec& r, CUstream s, CUevent e, CUdeviceptr m, CUgraphExec x) {
  r.k("stream_sync", cuStreamSynchronize(s));
  r.k("stream_sync_again", cuStreamSynchronize(s));
  r.k("stream_query", cuStreamQuery(s));
  r.k("ctx_sync", cuCtxSynchronize());
  r.k("event_query_older", cuEventQuery(e));
  r.k("event_record", cuEventRecord(e, s));
  r.k("event_sync", cuEventSynchronize(e));
  CUdeviceptr p = 0;
  CUstream t = nullptr;
  CUevent f = nullptr;
  CUgraph gr = nullptr;
  r.k("mem_alloc", cuMemAlloc(&p, 64));
  r.k("malloc_async", cuMemAllocAsync(&p, 64, s));
  r.k("stream_create", cuStreamCreate(&t, NB));
  r.k("event_create", cuEventCreate(&f, 0));
  r.k("graph_create", cuGraphCreate(&gr, 0));
  r.k("graph_launch", cuGraphLaunch(x, s));
  r.k("memcpy", cuMemcpyHtoD(m, g.pin, 16));
  r.k("memcpy_async", cuMemcpyHtoDAsync(m, g.pin, 16, s));
  r.k("memset", cuMemsetD8(m, 1, 16));
  r.k("host_func", cuLaunchHostFunc(s, label_fn, new_label("x")));
  r.k("launch", k_plain(kern().empty, s));
  r.k("begin_capture", cuStreamBeginCapture(s, GLOBAL));
  size_t a, b;
  r.k("mem_get_info", cuMemGetInfo(&a, &b));
  unsigned ty = 0;
  r.k("pointer_attr", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, m));
  CUcontext c = nullptr;
  r.k("ctx_get_current", cuCtxGetCurrent(&c));
  CUdevice d;
  r.k("ctx_get_device", cuCtxGetDevice(&d));
  r.k("ctx_set_current", cuCtxSetCurrent(g.ctx));
  int n = 0;
  r.k("device_count", cuDeviceGetCount(&n));
  r.k("driver_version", cuDriverGetVersion(&n));
  r.k("mem_free", cuMemFree(m));
  r.k("event_destroy", cuEventDestroy(e));
  r.k("stream_destroy", cuStreamDestroy(s));
  r.k("primary_reset", cuDevicePrimaryCtxReset(g.dev));
  r.k("mem_alloc_after_reset", cuMemAlloc(&p, 64));
  r.k("primary_release", cuDevicePrimaryCtxRelease(g.dev));
  r.k("retain_new", cuDevicePrimaryCtxRetain(&c, g.dev));
  r.k("set_new", cuCtxSetCurrent(c));
  r.k("mem_alloc_new", cuMemAlloc(&p, 64));
  CUcontext o = nullptr;
  r.k("ctx_create_new", cuCtxCreate(&o, nullptr, 0, g.dev));
  if (o) r.k("mem_alloc_other_ctx", cuMemAlloc(&p, 64));
}

}  // namespace

void sticky_case(Rec& r, const std::function<CUresult(CUstream)>& launch) {
  kern();
  CUstream s = nullptr;
  CUevent e = nullptr;
  CUdeviceptr m = 0;
  CUgraph gr = nullptr;
  CUgraphExec x = nullptr;
  OK(cuStreamCreate(&s, NB));
  OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
  OK(cuMemAlloc(&m, 4096));
  OK(cuGraphCreate(&gr, 0));
  add_empty(gr);
  OK(cuGraphInstantiate(&x, gr, 0));
  OK(cuEventRecord(e, s));
  OK(cuStreamSynchronize(s));
  r.k("launch_bad", launch(s));
  rec_sticky(r, s, e, m, x);
}

}  // namespace weir::conformance
