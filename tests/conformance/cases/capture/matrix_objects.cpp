// SPDX-License-Identifier: Apache-2.0
// cases/capture/matrix_objects.cpp - calls during a capture: memory, events, streams, contexts;
// work in the legacy stream.
#include "cases/capture/capture_matrix.hpp"

namespace weir::conformance {

MatrixCalls matrix_objects() {
  return {
      {"mem_alloc",
       [](MatrixEnv& e) {
         CUdeviceptr p = 0;
         CUresult x = cuMemAlloc(&p, 64);
         if (x == CUDA_SUCCESS) e.undo.push_back([p] { cuMemFree(p); });
         return x;
       }},
      {"mem_free",
       [](MatrixEnv& e) {
         CUresult x = cuMemFree(e.mem);
         if (x == CUDA_SUCCESS) e.mem = 0;
         return x;
       }},
      {"mem_alloc_pitch",
       [](MatrixEnv& e) {
         CUdeviceptr p = 0;
         size_t pitch = 0;
         CUresult x = cuMemAllocPitch(&p, &pitch, 64, 4, 4);
         if (x == CUDA_SUCCESS) e.undo.push_back([p] { cuMemFree(p); });
         return x;
       }},
      {"mem_host_alloc",
       [](MatrixEnv& e) {
         void* p = nullptr;
         CUresult x = cuMemHostAlloc(&p, 64, 0);
         if (x == CUDA_SUCCESS) e.undo.push_back([p] { cuMemFreeHost(p); });
         return x;
       }},
      {"mem_free_host",
       [](MatrixEnv& e) {
         CUresult x = cuMemFreeHost(e.host);
         if (x == CUDA_SUCCESS) e.host = nullptr;
         return x;
       }},
      {"mem_alloc_managed",
       [](MatrixEnv& e) {
         CUdeviceptr p = 0;
         CUresult x = cuMemAllocManaged(&p, 64, CU_MEM_ATTACH_GLOBAL);
         if (x == CUDA_SUCCESS) e.undo.push_back([p] { cuMemFree(p); });
         return x;
       }},
      {"host_register",
       [](MatrixEnv& e) {
         void* p = e.page;
         CUresult x = cuMemHostRegister(p, 4096, 0);
         if (x == CUDA_SUCCESS) e.undo.push_back([p] { cuMemHostUnregister(p); });
         return x;
       }},
      {"host_unregister",
       [](MatrixEnv& e) {
         CUresult x = cuMemHostUnregister(e.regd);
         if (x == CUDA_SUCCESS) e.regd = nullptr;
         return x;
       }},
      {"mem_get_info",
       [](MatrixEnv&) {
         size_t a, b;
         return cuMemGetInfo(&a, &b);
       }},
      {"pointer_attr",
       [](MatrixEnv& e) {
         unsigned t = 0;
         return cuPointerGetAttribute(&t, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, e.mem);
       }},
      {"pointer_set_sync_memops",
       [](MatrixEnv& e) {
         unsigned t = 0;
         return cuPointerSetAttribute(&t, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, e.mem);
       }},
      {"event_create",
       [](MatrixEnv& e) {
         CUevent ev = nullptr;
         CUresult x = cuEventCreate(&ev, 0);
         if (x == CUDA_SUCCESS) e.undo.push_back([ev] { cuEventDestroy(ev); });
         return x;
       }},
      {"event_destroy",
       [](MatrixEnv& e) {
         CUresult x = cuEventDestroy(e.done2);
         if (x == CUDA_SUCCESS) e.done2 = nullptr;
         return x;
       }},
      {"event_query_unrecorded", [](MatrixEnv& e) { return cuEventQuery(e.unrec); }},
      {"event_query_done", [](MatrixEnv& e) { return cuEventQuery(e.done); }},
      {"event_sync_unrecorded", [](MatrixEnv& e) { return cuEventSynchronize(e.unrec); }},
      {"event_sync_done", [](MatrixEnv& e) { return cuEventSynchronize(e.done); }},
      {"event_elapsed_done",
       [](MatrixEnv& e) {
         float ms;
         return cuEventElapsedTime(&ms, e.done, e.done2);
       }},
      {"event_record_other", [](MatrixEnv& e) { return cuEventRecord(e.done, e.other); }},
      {"stream_wait_event_other",
       [](MatrixEnv& e) { return cuStreamWaitEvent(e.other, e.done, 0); }},
      {"stream_create_nonblocking",
       [](MatrixEnv& e) {
         CUstream s = nullptr;
         CUresult x = cuStreamCreate(&s, NB);
         if (x == CUDA_SUCCESS) e.undo.push_back([s] { cuStreamDestroy(s); });
         return x;
       }},
      {"stream_create_blocking",
       [](MatrixEnv& e) {
         CUstream s = nullptr;
         CUresult x = cuStreamCreate(&s, BL);
         if (x == CUDA_SUCCESS) e.undo.push_back([s] { cuStreamDestroy(s); });
         return x;
       }},
      {"stream_destroy_other",
       [](MatrixEnv& e) {
         CUresult x = cuStreamDestroy(e.otherb);
         if (x == CUDA_SUCCESS) e.otherb = nullptr;
         return x;
       }},
      {"stream_query_other", [](MatrixEnv& e) { return cuStreamQuery(e.other); }},
      {"stream_sync_other", [](MatrixEnv& e) { return cuStreamSynchronize(e.other); }},
      {"stream_query_capturing", [](MatrixEnv& e) { return cuStreamQuery(e.cap); }},
      {"stream_sync_capturing", [](MatrixEnv& e) { return cuStreamSynchronize(e.cap); }},
      {"ctx_sync", [](MatrixEnv&) { return cuCtxSynchronize(); }},
      {"ctx_get_limit",
       [](MatrixEnv&) {
         size_t v;
         return cuCtxGetLimit(&v, CU_LIMIT_STACK_SIZE);
       }},
      {"ctx_set_limit", [](MatrixEnv&) { return cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 1024); }},
      {"ctx_record_event", [](MatrixEnv& e) { return cuCtxRecordEvent(g.ctx, e.done); }},
      {"ctx_wait_event", [](MatrixEnv& e) { return cuCtxWaitEvent(g.ctx, e.done); }},
      {"primary_retain_release",
       [](MatrixEnv&) {
         CUcontext c;
         CUresult x = cuDevicePrimaryCtxRetain(&c, g.dev);
         if (x == CUDA_SUCCESS) x = cuDevicePrimaryCtxRelease(g.dev);
         return x;
       }},
      {"memcpy_htod_sync", [](MatrixEnv&) { return cuMemcpyHtoD(g.dbuf, g.pin, 64); }},
      {"memcpy_dtoh_sync", [](MatrixEnv&) { return cuMemcpyDtoH(g.pin, g.dbuf, 64); }},
      {"memcpy_dtod_sync", [](MatrixEnv&) { return cuMemcpyDtoD(g.dbuf + 4096, g.dbuf, 64); }},
      {"memcpy_sync", [](MatrixEnv&) { return cuMemcpy(g.dbuf + 4096, g.dbuf, 64); }},
      {"memset_sync", [](MatrixEnv&) { return cuMemsetD8(g.dbuf, 1, 64); }},
      {"memcpy_async_null",
       [](MatrixEnv&) { return cuMemcpyHtoDAsync(g.dbuf, g.pin, 64, nullptr); }},
      {"memset_async_null", [](MatrixEnv&) { return cuMemsetD8Async(g.dbuf, 1, 64, nullptr); }},
      {"hostfn_null",
       [](MatrixEnv&) { return cuLaunchHostFunc(nullptr, label_fn, new_label("x")); }},
      {"event_record_null", [](MatrixEnv& e) { return cuEventRecord(e.done, nullptr); }},
      {"stream_wait_event_null",
       [](MatrixEnv& e) { return cuStreamWaitEvent(nullptr, e.done, 0); }},
      {"stream_query_null", [](MatrixEnv&) { return cuStreamQuery(nullptr); }},
      {"stream_sync_null", [](MatrixEnv&) { return cuStreamSynchronize(nullptr); }},
      {"stream_query_per_thread", [](MatrixEnv&) { return cuStreamQuery(PER_THREAD); }},
      {"memset_async_per_thread",
       [](MatrixEnv&) { return cuMemsetD8Async(g.dbuf, 1, 64, PER_THREAD); }},
      {"memset_async_other", [](MatrixEnv& e) { return cuMemsetD8Async(g.dbuf, 1, 64, e.other); }},
      {"memset_async_blocking",
       [](MatrixEnv& e) { return cuMemsetD8Async(g.dbuf, 1, 64, e.otherb); }},
      {"memcpy_async_pageable_other",
       [](MatrixEnv& e) { return cuMemcpyDtoHAsync(g.page, g.dbuf, 64, e.other); }},
      {"hostfn_other",
       [](MatrixEnv& e) { return cuLaunchHostFunc(e.other, label_fn, new_label("x")); }},
      {"callback_other",
       [](MatrixEnv& e) {
         return cuStreamAddCallback(
             e.other, [](CUstream, CUresult, void*) {}, nullptr, 0);
       }},
  };
}

}  // namespace weir::conformance
