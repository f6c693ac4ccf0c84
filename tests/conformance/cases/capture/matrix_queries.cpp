// SPDX-License-Identifier: Apache-2.0
// cases/capture/matrix_queries.cpp - calls during a capture: queries of streams, memory, contexts
// and devices.
#include "cases/capture/capture_matrix.hpp"

namespace weir::conformance {
namespace {

CUmemAllocationProp matrix_vmm() {
  CUmemAllocationProp p{};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  p.location.id = g.dev;
  return p;
}

}  // namespace

MatrixCalls matrix_queries() {
  return {
      // ---- queries of streams ----
      {"stream_get_flags_other",
       [](MatrixEnv& e) {
         unsigned f;
         return cuStreamGetFlags(e.other, &f);
       }},
      {"stream_get_priority_other",
       [](MatrixEnv& e) {
         int p;
         return cuStreamGetPriority(e.other, &p);
       }},
      {"stream_get_id_other",
       [](MatrixEnv& e) {
         unsigned long long id;
         return cuStreamGetId(e.other, &id);
       }},
      {"stream_get_ctx_other",
       [](MatrixEnv& e) {
         CUcontext c;
         return cuStreamGetCtx(e.other, &c);
       }},
      {"stream_get_device_other",
       [](MatrixEnv& e) {
         CUdevice d;
         return cuStreamGetDevice(e.other, &d);
       }},
      {"stream_get_attr_other",
       [](MatrixEnv& e) {
         CUstreamAttrValue v;
         return cuStreamGetAttribute(e.other, CU_STREAM_ATTRIBUTE_PRIORITY, &v);
       }},
      {"stream_copy_attr_other",
       [](MatrixEnv& e) { return cuStreamCopyAttributes(e.other, e.otherb); }},
      {"is_capturing_capturing",
       [](MatrixEnv& e) {
         CUstreamCaptureStatus st;
         return cuStreamIsCapturing(e.cap, &st);
       }},
      {"capture_info_capturing",
       [](MatrixEnv& e) {
         CUstreamCaptureStatus st;
         cuuint64_t id;
         return cuStreamGetCaptureInfo(e.cap, &st, &id, nullptr, nullptr, nullptr, nullptr);
       }},
      {"update_deps_capturing",
       [](MatrixEnv& e) {
         return cuStreamUpdateCaptureDependencies(e.cap, nullptr, nullptr, 0,
                                                  CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
       }},
      {"exchange_mode",
       [](MatrixEnv&) {
         CUstreamCaptureMode m = RELAXED;
         CUresult x = cuThreadExchangeStreamCaptureMode(&m);
         if (x == CUDA_SUCCESS) x = cuThreadExchangeStreamCaptureMode(&m);
         return x;
       }},
      // ---- memory ----
      {"mem_alloc_host",
       [](MatrixEnv& e) {
         void* p = nullptr;
         CUresult x = cuMemAllocHost(&p, 64);
         if (x == CUDA_SUCCESS) e.undo.push_back([p] { cuMemFreeHost(p); });
         return x;
       }},
      {"mem_free_null", [](MatrixEnv&) { return cuMemFree(0); }},
      {"free_host_null", [](MatrixEnv&) { return cuMemFreeHost(nullptr); }},
      {"host_get_pointer",
       [](MatrixEnv&) {
         CUdeviceptr p;
         return cuMemHostGetDevicePointer(&p, g.pin, 0);
       }},
      {"host_get_flags",
       [](MatrixEnv&) {
         unsigned f;
         return cuMemHostGetFlags(&f, g.pin);
       }},
      {"address_range",
       [](MatrixEnv& e) {
         CUdeviceptr b;
         size_t n;
         return cuMemGetAddressRange(&b, &n, e.mem);
       }},
      {"pointer_attrs_many",
       [](MatrixEnv& e) {
         CUpointer_attribute a = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
         unsigned ty = 0;
         void* out = &ty;
         return cuPointerGetAttributes(1, &a, &out, e.mem);
       }},
      {"mem_advise",
       [](MatrixEnv& e) {
         CUmemLocation loc{};
         loc.type = CU_MEM_LOCATION_TYPE_DEVICE;
         loc.id = g.dev;
         return cuMemAdvise(e.managed, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, loc);
       }},
      {"ipc_mem_handle",
       [](MatrixEnv& e) {
         CUipcMemHandle h;
         return cuIpcGetMemHandle(&h, e.mem);
       }},
      {"ipc_event_handle",
       [](MatrixEnv& e) {
         CUipcEventHandle h;
         return cuIpcGetEventHandle(&h, e.ipc);
       }},
      {"pool_set_attr",
       [](MatrixEnv& e) {
         int on = 1;
         return cuMemPoolSetAttribute(e.own_pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &on);
       }},
      {"pool_set_access",
       [](MatrixEnv& e) {
         CUmemAccessDesc d{};
         d.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
         d.location.id = g.dev;
         d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
         return cuMemPoolSetAccess(e.own_pool, &d, 1);
       }},
      {"pool_get_access",
       [](MatrixEnv& e) {
         CUmemLocation loc{};
         loc.type = CU_MEM_LOCATION_TYPE_DEVICE;
         loc.id = g.dev;
         CUmemAccess_flags f;
         return cuMemPoolGetAccess(&f, e.own_pool, &loc);
       }},
      {"pool_destroy",
       [](MatrixEnv& e) {
         CUresult x = cuMemPoolDestroy(e.own_pool);
         if (x == CUDA_SUCCESS) e.own_pool = nullptr;
         return x;
       }},
      {"default_pool",
       [](MatrixEnv&) {
         CUmemoryPool q;
         return cuDeviceGetDefaultMemPool(&q, g.dev);
       }},
      {"get_current_pool",
       [](MatrixEnv&) {
         CUmemoryPool q;
         return cuDeviceGetMemPool(&q, g.dev);
       }},
      {"set_current_pool", [](MatrixEnv& e) { return cuDeviceSetMemPool(g.dev, e.pool); }},
      {"vmm_granularity",
       [](MatrixEnv&) {
         CUmemAllocationProp p = matrix_vmm();
         size_t n;
         return cuMemGetAllocationGranularity(&n, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
       }},
      {"vmm_reserve",
       [](MatrixEnv& e) {
         CUdeviceptr a = 0;
         CUresult x = cuMemAddressReserve(&a, 2u << 20, 0, 0, 0);
         if (x == CUDA_SUCCESS) e.undo.push_back([a] { cuMemAddressFree(a, 2u << 20); });
         return x;
       }},
      {"vmm_create",
       [](MatrixEnv& e) {
         CUmemAllocationProp p = matrix_vmm();
         CUmemGenericAllocationHandle h = 0;
         CUresult x = cuMemCreate(&h, 2u << 20, &p, 0);
         if (x == CUDA_SUCCESS) e.undo.push_back([h] { cuMemRelease(h); });
         return x;
       }},
      // ---- contexts and devices ----
      {"ctx_get_current",
       [](MatrixEnv&) {
         CUcontext c;
         return cuCtxGetCurrent(&c);
       }},
      {"ctx_set_current", [](MatrixEnv&) { return cuCtxSetCurrent(g.ctx); }},
      {"ctx_push_pop",
       [](MatrixEnv&) {
         CUcontext c;
         CUresult x = cuCtxPushCurrent(g.ctx);
         return x == CUDA_SUCCESS ? cuCtxPopCurrent(&c) : x;
       }},
      {"ctx_get_flags",
       [](MatrixEnv&) {
         unsigned f;
         return cuCtxGetFlags(&f);
       }},
      {"ctx_get_device",
       [](MatrixEnv&) {
         CUdevice d;
         return cuCtxGetDevice(&d);
       }},
      {"ctx_get_id",
       [](MatrixEnv&) {
         unsigned long long id;
         return cuCtxGetId(g.ctx, &id);
       }},
      {"ctx_priority_range",
       [](MatrixEnv&) {
         int a, b;
         return cuCtxGetStreamPriorityRange(&a, &b);
       }},
      {"ctx_get_cache_config",
       [](MatrixEnv&) {
         CUfunc_cache c;
         return cuCtxGetCacheConfig(&c);
       }},
      {"ctx_set_cache_config",
       [](MatrixEnv&) { return cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_NONE); }},
      {"primary_get_state",
       [](MatrixEnv&) {
         unsigned f;
         int a;
         return cuDevicePrimaryCtxGetState(g.dev, &f, &a);
       }},
      {"device_attr",
       [](MatrixEnv&) {
         int v;
         return cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, g.dev);
       }},
      {"device_can_access_peer",
       [](MatrixEnv&) {
         int v;
         return cuDeviceCanAccessPeer(&v, g.dev, g.dev);
       }},
      {"graph_mem_get_attr",
       [](MatrixEnv&) {
         cuuint64_t v;
         return cuDeviceGetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v);
       }},
      {"init", [](MatrixEnv&) { return cuInit(0); }},
      {"error_name",
       [](MatrixEnv&) {
         const char* n;
         return cuGetErrorName(CUDA_SUCCESS, &n);
       }},
  };
}

}  // namespace weir::conformance
