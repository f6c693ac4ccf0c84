// SPDX-License-Identifier: Apache-2.0
// cases/context/init_before.cpp - calls before and around cuInit: which need it and which do not.
#include "probe/probe.hpp"

namespace weir::conformance {

void init_before_cases() {
  add("init.before_init_device", RAW, [](Rec& r) {
    int v = 0, n = -7;
    r.k("driver_version", cuDriverGetVersion(&v));
    r.k("driver_version_ge_13000", v >= 13000);
    const char* s = nullptr;
    r.k("error_name", cuGetErrorName(CUDA_SUCCESS, &s));
    r.k("device_count", cuDeviceGetCount(&n));
    r.k("count_untouched", n == -7);
    CUdevice d = -7;
    r.k("device_get", cuDeviceGet(&d, 0));
    r.k("device_attr", cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
    size_t total = 0;
    r.k("total_mem", cuDeviceTotalMem(&total, 0));
    char name[64];
    r.k("device_name", cuDeviceGetName(name, 64, 0));
    unsigned fl = 0;
    int act = 0;
    r.k("primary_state", cuDevicePrimaryCtxGetState(0, &fl, &act));
    CUcontext c = nullptr;
    r.k("primary_retain", cuDevicePrimaryCtxRetain(&c, 0));
  });

  add("init.before_init_ctx", RAW, [](Rec& r) {
    CUcontext c = nullptr;
    r.k("ctx_get_current", cuCtxGetCurrent(&c));
    r.k("ctx_set_current_null", cuCtxSetCurrent(nullptr));
    r.k("ctx_pop", cuCtxPopCurrent(&c));
    r.k("ctx_sync", cuCtxSynchronize());
    r.k("ctx_create", cuCtxCreate(&c, nullptr, 0, 0));
    CUdevice d;
    r.k("ctx_get_device", cuCtxGetDevice(&d));
    CUstreamCaptureMode m = GLOBAL;
    r.k("exchange_mode", cuThreadExchangeStreamCaptureMode(&m));
  });

  add("init.before_init_objects", RAW, [](Rec& r) {
    CUstream s = nullptr;
    CUevent e = nullptr;
    CUdeviceptr p = 0;
    void* h = nullptr;
    CUgraph gr = nullptr;
    r.k("stream_create", cuStreamCreate(&s, 0));
    r.k("stream_query_null", cuStreamQuery(nullptr));
    r.k("stream_sync_null", cuStreamSynchronize(nullptr));
    r.k("event_create", cuEventCreate(&e, 0));
    r.k("mem_alloc", cuMemAlloc(&p, 16));
    r.k("mem_free_null", cuMemFree(0));
    r.k("host_alloc", cuMemHostAlloc(&h, 16, 0));
    r.k("mem_alloc_async", cuMemAllocAsync(&p, 16, nullptr));
    r.k("host_func", cuLaunchHostFunc(nullptr, label_fn, new_label("x")));
    r.k("graph_create", cuGraphCreate(&gr, 0));
    CUuserObject u = nullptr;
    r.k("user_object",
        cuUserObjectCreate(&u, nullptr, label_fn, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    unsigned ty = 0;
    r.k("pointer_attr", cuPointerGetAttribute(&ty, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 16));
  });

  add("init.flags", RAW, [](Rec& r) {
    r.k("flags1", cuInit(1));
    r.k("flags_all", cuInit(0xffffffffu));
    r.k("flags0", cuInit(0));
    r.k("again", cuInit(0));
    r.k("flags1_after", cuInit(1));
  });

  add("init.after_failed_flags", RAW, [](Rec& r) {
    int n = 0;
    r.k("flags1", cuInit(1));
    r.k("count", cuDeviceGetCount(&n));
  });

  add("init.devices", RAW, [](Rec& r) {
    OK(cuInit(0));
    int n = 0;
    r.k("count", cuDeviceGetCount(&n));
    r.k("has_device", n > 0);
    CUdevice d = -7;
    r.k("get0", cuDeviceGet(&d, 0));
    r.k("dev0", d);
    r.k("get_neg", cuDeviceGet(&d, -1));
    r.k("get_past", cuDeviceGet(&d, n));
    int v = 0;
    r.k("attr_bad_dev", cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, n));
    r.k("attr_bad_attr", cuDeviceGetAttribute(&v, static_cast<CUdevice_attribute>(99999), 0));
    r.k("attr_attr0", cuDeviceGetAttribute(&v, static_cast<CUdevice_attribute>(0), 0));
    size_t t = 0;
    r.k("total_bad_dev", cuDeviceTotalMem(&t, n));
    r.k("total", cuDeviceTotalMem(&t, 0));
    r.k("total_positive", t > 0);
    char nm[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    r.k("name_short", cuDeviceGetName(nm, 4, 0));
    r.k("name_terminated", nm[3] == 0);
    CUuuid u;
    r.k("uuid", cuDeviceGetUuid(&u, 0));
    r.k("uuid_bad_dev", cuDeviceGetUuid(&u, n));
    char id[32] = "";
    r.k("bus_id", cuDeviceGetPCIBusId(id, sizeof id, 0));
    r.k("bus_id_bad_dev", cuDeviceGetPCIBusId(id, sizeof id, n));
  });
  add("init.device_name_len0", RAW, [](Rec& r) {
    OK(cuInit(0));
    char nm[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    r.k("name_len0", cuDeviceGetName(nm, 0, 0));
    r.k("untouched", nm[0] == 1);
  });
}

}  // namespace weir::conformance
