// SPDX-License-Identifier: Apache-2.0
// cases/stream/inside.cpp - CUDA calls made inside host functions, callbacks, host nodes and
// destructors.
#include "cases/stream/inside.hpp"

#include <cstring>
#include <vector>

namespace weir::conformance {

void run_inside(Rec& r, const std::string& kind, const InsideCall& call) {
  // Leaked: the call under test may have destroyed any of these objects.
  auto& env = *leak<InsideEnv>();
  OK(cuStreamCreate(&env.self, NB));
  OK(cuStreamCreate(&env.other, NB));
  OK(cuStreamCreate(&env.spare, NB));
  OK(cuStreamCreate(&env.doomed, NB));
  OK(cuEventCreate(&env.event, CU_EVENT_DISABLE_TIMING));
  OK(cuEventCreate(&env.spare_event, CU_EVENT_DISABLE_TIMING));
  OK(cuEventCreate(&env.done, 0));
  OK(cuEventRecord(env.done, env.other));
  OK(cuStreamSynchronize(env.other));
  OK(cuGraphCreate(&env.graph, 0));
  env.node = add_memset(env.graph, {}, g.dbuf, 1, 16);
  OK(cuGraphInstantiate(&env.exec, env.graph, 0));
  OK(cuGraphInstantiate(&env.spare_exec, env.graph, 0));
  OK(cuMemAlloc(&env.mem, 64));
  OK(cuMemHostAlloc(&env.pinned, 64, 0));
  env.cell = new_cell();
  struct Box {
    InsideCall call;
    InsideEnv* env;
    Trace* entered;
    Trace* returned;
    CUresult res = CUDA_ERROR_UNKNOWN;
  };
  auto& box = *leak<Box>(Box{call, &env, &new_trace(), &new_trace(), CUDA_ERROR_UNKNOWN});
  auto fn = [](void* p) {
    auto* b = static_cast<Box*>(p);
    b->entered->add("in");
    b->res = b->call(*b->env);
    b->returned->add("out");
  };
  if (kind == "hostfn") {
    OK(cuLaunchHostFunc(env.self, fn, &box));
  } else if (kind == "callback") {
    OK(cuStreamAddCallback(
        env.self,
        [](CUstream, CUresult, void* p) {
          auto* b = static_cast<Box*>(p);
          b->entered->add("in");
          b->res = b->call(*b->env);
          b->returned->add("out");
        },
        &box, 0));
  } else if (kind == "hostnode") {
    auto& hg = *leak<Graph>();
    add_host(hg, {}, fn, &box);
    auto& hx = *leak<Exec>(hg.h);
    OK(cuGraphLaunch(hx, env.self));
  } else {
    CUuserObject u = nullptr;
    OK(cuUserObjectCreate(&u, &box, fn, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    OK(cuUserObjectRelease(u, 1));
  }
  r.k("called", box.entered->wait_size(1, kMustHappenMs));
  bool back = box.returned->wait_size(1, kMustHappenMs);
  r.k("returned", back);
  if (!back) abandon_process();
  r.k("res", box.res);
  r.k("sync", cuStreamSynchronize(env.self));
  CUgraph open = nullptr;
  if (capture_status(env.spare) != "NONE" && cuStreamEndCapture(env.spare, &open) == CUDA_SUCCESS)
    cuGraphDestroy(open);
  cuStreamSynchronize(env.other);
  for (CUstream s : {env.self, env.other, env.spare}) cuStreamDestroy(s);
  for (CUevent e : {env.event, env.done}) cuEventDestroy(e);
  cuGraphExecDestroy(env.exec);
}

void inside_cases() {
  struct C {
    const char* name;
    unsigned flags;
    bool everywhere;
    InsideCall call;
  };
  static const std::vector<C> calls = {
      {"driver_version", NORMAL, true,
       [](InsideEnv&) {
         int v;
         return cuDriverGetVersion(&v);
       }},
      {"error_name", NORMAL, false,
       [](InsideEnv&) {
         const char* s;
         return cuGetErrorName(CUDA_SUCCESS, &s);
       }},
      {"init", NORMAL, false, [](InsideEnv&) { return cuInit(0); }},
      {"device_count", NORMAL, true,
       [](InsideEnv&) {
         int n;
         return cuDeviceGetCount(&n);
       }},
      {"device_get", NORMAL, false,
       [](InsideEnv&) {
         CUdevice d;
         return cuDeviceGet(&d, 0);
       }},
      {"device_attr", NORMAL, false,
       [](InsideEnv&) {
         int v;
         return cuDeviceGetAttribute(&v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, g.dev);
       }},
      {"default_pool", NORMAL, false,
       [](InsideEnv&) {
         CUmemoryPool p;
         return cuDeviceGetDefaultMemPool(&p, g.dev);
       }},
      {"ctx_get_current", NORMAL, true,
       [](InsideEnv&) {
         CUcontext c;
         return cuCtxGetCurrent(&c);
       }},
      {"ctx_set_current", NORMAL, false, [](InsideEnv&) { return cuCtxSetCurrent(g.ctx); }},
      {"ctx_get_device", NORMAL, false,
       [](InsideEnv&) {
         CUdevice d;
         return cuCtxGetDevice(&d);
       }},
      {"ctx_push", NORMAL, false, [](InsideEnv&) { return cuCtxPushCurrent(g.ctx); }},
      {"ctx_sync", NORMAL, false, [](InsideEnv&) { return cuCtxSynchronize(); }},
      {"ctx_record_event", NORMAL, false,
       [](InsideEnv& e) { return cuCtxRecordEvent(g.ctx, e.spare_event); }},
      {"primary_retain", NORMAL, false,
       [](InsideEnv&) {
         CUcontext c;
         return cuDevicePrimaryCtxRetain(&c, g.dev);
       }},
      {"stream_create", NORMAL, false,
       [](InsideEnv&) {
         CUstream s = nullptr;
         return cuStreamCreate(&s, NB);
       }},
      {"stream_destroy", NORMAL, false, [](InsideEnv& e) { return cuStreamDestroy(e.doomed); }},
      {"stream_query_other", NORMAL, true, [](InsideEnv& e) { return cuStreamQuery(e.other); }},
      {"stream_query_self", NORMAL, false, [](InsideEnv& e) { return cuStreamQuery(e.self); }},
      {"stream_query_legacy", NORMAL, false, [](InsideEnv&) { return cuStreamQuery(LEGACY); }},
      {"stream_query_null", NORMAL, false, [](InsideEnv&) { return cuStreamQuery(nullptr); }},
      {"stream_query_per_thread", NORMAL, false,
       [](InsideEnv&) { return cuStreamQuery(PER_THREAD); }},
      {"stream_get_flags", NORMAL, false,
       [](InsideEnv& e) {
         unsigned f;
         return cuStreamGetFlags(e.other, &f);
       }},
      {"stream_get_id", NORMAL, false,
       [](InsideEnv& e) {
         unsigned long long id;
         return cuStreamGetId(e.other, &id);
       }},
      {"stream_get_ctx", NORMAL, false,
       [](InsideEnv& e) {
         CUcontext c;
         return cuStreamGetCtx(e.other, &c);
       }},
      {"stream_get_attr", NORMAL, false,
       [](InsideEnv& e) {
         CUstreamAttrValue v;
         return cuStreamGetAttribute(e.other, CU_STREAM_ATTRIBUTE_PRIORITY, &v);
       }},
      {"stream_wait_event", NORMAL, false,
       [](InsideEnv& e) { return cuStreamWaitEvent(e.other, e.done, 0); }},
      {"is_capturing", NORMAL, false,
       [](InsideEnv& e) {
         CUstreamCaptureStatus st;
         return cuStreamIsCapturing(e.other, &st);
       }},
      {"begin_capture", NORMAL, false,
       [](InsideEnv& e) { return cuStreamBeginCapture(e.spare, RELAXED); }},
      {"capture", NORMAL, false,
       [](InsideEnv& e) {
         CUresult x = cuStreamBeginCapture(e.spare, RELAXED);
         CUgraph gr = nullptr;
         return x != CUDA_SUCCESS ? x : cuStreamEndCapture(e.spare, &gr);
       }},
      {"exchange_mode", NORMAL, false,
       [](InsideEnv&) {
         CUstreamCaptureMode m = GLOBAL;
         return cuThreadExchangeStreamCaptureMode(&m);
       }},
      {"event_create", NORMAL, false,
       [](InsideEnv&) {
         CUevent ev = nullptr;
         return cuEventCreate(&ev, 0);
       }},
      {"event_destroy", NORMAL, false, [](InsideEnv& e) { return cuEventDestroy(e.spare_event); }},
      {"event_query", NORMAL, true, [](InsideEnv& e) { return cuEventQuery(e.event); }},
      {"event_sync", NORMAL, false, [](InsideEnv& e) { return cuEventSynchronize(e.done); }},
      {"event_elapsed", NORMAL, false,
       [](InsideEnv& e) {
         float ms;
         return cuEventElapsedTime(&ms, e.done, e.done);
       }},
      {"event_record_other", NORMAL, false,
       [](InsideEnv& e) { return cuEventRecord(e.event, e.other); }},
      {"event_record_null", NORMAL, false,
       [](InsideEnv& e) { return cuEventRecord(e.event, nullptr); }},
      {"host_func_other", NORMAL, true,
       [](InsideEnv& e) { return cuLaunchHostFunc(e.other, label_fn, new_label("x")); }},
      {"host_func_self", NORMAL, false,
       [](InsideEnv& e) { return cuLaunchHostFunc(e.self, label_fn, new_label("x")); }},
      {"add_callback", NORMAL, false,
       [](InsideEnv& e) {
         return cuStreamAddCallback(
             e.other, [](CUstream, CUresult, void*) {}, nullptr, 0);
       }},
      {"memset_async_other", NORMAL, false,
       [](InsideEnv& e) { return cuMemsetD8Async(g.dbuf, 1, 16, e.other); }},
      {"memset_async_null", NORMAL, false,
       [](InsideEnv&) { return cuMemsetD8Async(g.dbuf, 1, 16, nullptr); }},
      {"memcpy_async_other", NORMAL, false,
       [](InsideEnv& e) { return cuMemcpyHtoDAsync(g.dbuf, g.pin, 16, e.other); }},
      {"memcpy_async_pageable", NORMAL, false,
       [](InsideEnv& e) { return cuMemcpyDtoHAsync(g.page, g.dbuf, 16, e.other); }},
      {"malloc_async", NORMAL, false,
       [](InsideEnv& e) {
         CUdeviceptr p = 0;
         return cuMemAllocAsync(&p, 64, e.other);
       }},
      {"write_value", NORMAL, false,
       [](InsideEnv& e) { return cuStreamWriteValue32(e.other, e.cell.d, 1, 0); }},
      {"graph_create", NORMAL, true,
       [](InsideEnv&) {
         CUgraph gr = nullptr;
         return cuGraphCreate(&gr, 0);
       }},
      {"graph_add_node", NORMAL, false,
       [](InsideEnv& e) {
         CUgraphNode n = nullptr;
         return cuGraphAddEmptyNode(&n, e.graph, nullptr, 0);
       }},
      {"graph_get_nodes", NORMAL, false,
       [](InsideEnv& e) {
         size_t n = 0;
         return cuGraphGetNodes(e.graph, nullptr, &n);
       }},
      {"graph_instantiate", NORMAL, false,
       [](InsideEnv& e) {
         CUgraphExec x = nullptr;
         return cuGraphInstantiate(&x, e.graph, 0);
       }},
      {"graph_exec_set", NORMAL, false,
       [](InsideEnv& e) {
         CUDA_MEMSET_NODE_PARAMS p = memset_params(g.dbuf, 2, 16);
         return cuGraphExecMemsetNodeSetParams(e.spare_exec, e.node, &p, g.ctx);
       }},
      {"graph_exec_update", NORMAL, false,
       [](InsideEnv& e) {
         CUgraphExecUpdateResultInfo info;
         memset(&info, 0, sizeof info);
         return cuGraphExecUpdate(e.spare_exec, e.graph, &info);
       }},
      {"graph_launch_other", NORMAL, false,
       [](InsideEnv& e) { return cuGraphLaunch(e.exec, e.other); }},
      {"graph_exec_destroy", NORMAL, false,
       [](InsideEnv& e) { return cuGraphExecDestroy(e.spare_exec); }},
      {"graph_destroy", NORMAL, false, [](InsideEnv& e) { return cuGraphDestroy(e.graph); }},
      {"user_object_create", NORMAL, false,
       [](InsideEnv&) {
         CUuserObject u = nullptr;
         return cuUserObjectCreate(&u, new_label("u"), label_fn, 1,
                                   CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
       }},
      {"pointer_attr", NORMAL, false,
       [](InsideEnv& e) {
         unsigned t = 0;
         return cuPointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, e.mem);
       }},
      {"mem_get_info", NORMAL, false,
       [](InsideEnv&) {
         size_t a, b;
         return cuMemGetInfo(&a, &b);
       }},
      {"mem_alloc", NORMAL, true,
       [](InsideEnv&) {
         CUdeviceptr p = 0;
         return cuMemAlloc(&p, 64);
       }},
      {"mem_free", NORMAL, false, [](InsideEnv& e) { return cuMemFree(e.mem); }},
      {"mem_free_null", NORMAL, false, [](InsideEnv&) { return cuMemFree(0); }},
      {"host_alloc", NORMAL, false,
       [](InsideEnv&) {
         void* p = nullptr;
         return cuMemHostAlloc(&p, 64, 0);
       }},
      {"host_free", NORMAL, false, [](InsideEnv& e) { return cuMemFreeHost(e.pinned); }},
      {"host_pointer", NORMAL, false,
       [](InsideEnv& e) {
         CUdeviceptr p = 0;
         return cuMemHostGetDevicePointer(&p, e.pinned, 0);
       }},
      {"memcpy_sync", NORMAL, false, [](InsideEnv&) { return cuMemcpyHtoD(g.dbuf, g.pin, 16); }},
      {"memset_sync", NORMAL, false, [](InsideEnv&) { return cuMemsetD8(g.dbuf, 1, 16); }},
      {"stream_sync_other", NORMAL, true,
       [](InsideEnv& e) { return cuStreamSynchronize(e.other); }},
      {"stream_sync_null", ISO, false, [](InsideEnv&) { return cuStreamSynchronize(nullptr); }},
      {"free_async", NORMAL, false, [](InsideEnv& e) { return cuMemFreeAsync(e.mem, e.other); }},
      {"stream_sync_self", ISO, false, [](InsideEnv& e) { return cuStreamSynchronize(e.self); }},
  };
  for (const char* kind : {"hostfn", "callback", "hostnode", "userobj"}) {
    for (size_t i = 0; i < calls.size(); i++) {
      if (strcmp(kind, "hostfn") != 0 && !calls[i].everywhere) continue;
      std::string k = kind;
      add("inside." + k + "." + calls[i].name, calls[i].flags,
          [k, i](Rec& r) { run_inside(r, k, calls[i].call); });
    }
  }
}

}  // namespace weir::conformance
