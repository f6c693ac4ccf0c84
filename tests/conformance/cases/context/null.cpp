// SPDX-License-Identifier: Apache-2.0
// cases/context/null.cpp - null and otherwise invalid arguments, one call for each case.
#include "probe/probe.hpp"

namespace weir::conformance {

void null_cases() {
  ONE("null.stream_create", cuStreamCreate(nullptr, 0));
  ONE("null.stream_create_prio", cuStreamCreateWithPriority(nullptr, 0, 0));
  ONE("null.stream_get_flags", cuStreamGetFlags(nullptr, nullptr));
  ONE("null.stream_get_priority", cuStreamGetPriority(nullptr, nullptr));
  ONE("null.stream_get_id", cuStreamGetId(nullptr, nullptr));
  ONE("null.stream_get_ctx", cuStreamGetCtx(nullptr, nullptr));
  ONE("null.stream_get_ctx_v2", cuStreamGetCtx_v2(nullptr, nullptr, nullptr));
  ONE("null.stream_get_device", cuStreamGetDevice(nullptr, nullptr));
  ONE("null.stream_is_capturing", cuStreamIsCapturing(nullptr, nullptr));
  ONE("null.stream_capture_info",
      cuStreamGetCaptureInfo(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr));
  ONE("null.stream_end_capture", cuStreamEndCapture(nullptr, nullptr));
  ONE("null.stream_wait_event", cuStreamWaitEvent(nullptr, nullptr, 0));
  ONE("null.stream_callback", cuStreamAddCallback(nullptr, nullptr, nullptr, 0));
  ONE("null.stream_copy_attrs", cuStreamCopyAttributes(nullptr, nullptr));
  ONE("null.stream_get_attr", cuStreamGetAttribute(nullptr, CU_STREAM_ATTRIBUTE_PRIORITY, nullptr));
  ONE("null.stream_set_attr", cuStreamSetAttribute(nullptr, CU_STREAM_ATTRIBUTE_PRIORITY, nullptr));
  ONE("null.exchange_mode", cuThreadExchangeStreamCaptureMode(nullptr));
  ONE("null.host_func", cuLaunchHostFunc(nullptr, nullptr, nullptr));
  ONE("null.priority_range", cuCtxGetStreamPriorityRange(nullptr, nullptr));
  ONE("null.event_create", cuEventCreate(nullptr, 0));
  ONE("null.event_record", cuEventRecord(nullptr, nullptr));
  ONE("null.event_record_flags", cuEventRecordWithFlags(nullptr, nullptr, 0));
  ONE("null.event_query", cuEventQuery(nullptr));
  ONE("null.event_sync", cuEventSynchronize(nullptr));
  ONE("null.event_destroy", cuEventDestroy(nullptr));
  ONE("null.event_elapsed", cuEventElapsedTime(nullptr, nullptr, nullptr));
  add("null.event_elapsed_events", [](Rec& r) {
    float ms = 0;
    r.k("res", cuEventElapsedTime(&ms, nullptr, nullptr));
  });
  add("null.event_elapsed_out", [](Rec& r) {
    Event a(0), b(0);
    OK(cuEventRecord(a, nullptr));
    OK(cuEventRecord(b, nullptr));
    OK(cuEventSynchronize(b));
    r.k("res", cuEventElapsedTime(nullptr, a, b));
  });
  ONE("null.ctx_create", cuCtxCreate(nullptr, nullptr, 0, g.dev));
  ONE("null.ctx_destroy", cuCtxDestroy(nullptr));
  ONE("null.ctx_push", cuCtxPushCurrent(nullptr));
  ONE("null.ctx_get_current", cuCtxGetCurrent(nullptr));
  ONE("null.ctx_get_device", cuCtxGetDevice(nullptr));
  ONE("null.ctx_get_flags", cuCtxGetFlags(nullptr));
  ONE("null.ctx_get_id", cuCtxGetId(nullptr, nullptr));
  ONE("null.ctx_get_limit", cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE));
  ONE("null.ctx_record_event", cuCtxRecordEvent(nullptr, nullptr));
  ONE("null.ctx_wait_event", cuCtxWaitEvent(nullptr, nullptr));
  ONE("null.primary_retain", cuDevicePrimaryCtxRetain(nullptr, g.dev));
  ONE("null.primary_state", cuDevicePrimaryCtxGetState(g.dev, nullptr, nullptr));
  ONE("null.device_count", cuDeviceGetCount(nullptr));
  ONE("null.device_get", cuDeviceGet(nullptr, 0));
  ONE("null.device_attr", cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, g.dev));
  ONE("null.error_name", cuGetErrorName(CUDA_SUCCESS, nullptr));
  ONE("null.error_string", cuGetErrorString(CUDA_SUCCESS, nullptr));
  ONE("null.mem_alloc", cuMemAlloc(nullptr, 16));
  ONE("null.mem_free", cuMemFree(0));
  ONE("null.mem_alloc_host", cuMemAllocHost(nullptr, 16));
  ONE("null.mem_host_alloc", cuMemHostAlloc(nullptr, 16, 0));
  ONE("null.mem_free_host", cuMemFreeHost(nullptr));
  ONE("null.mem_alloc_managed", cuMemAllocManaged(nullptr, 16, CU_MEM_ATTACH_GLOBAL));
  ONE("null.mem_alloc_pitch", cuMemAllocPitch(nullptr, nullptr, 16, 16, 4));
  ONE("null.mem_get_info", cuMemGetInfo(nullptr, nullptr));
  ONE("null.mem_address_range", cuMemGetAddressRange(nullptr, nullptr, g.dbuf));
  ONE("null.host_device_pointer", cuMemHostGetDevicePointer(nullptr, g.pin, 0));
  ONE("null.host_get_flags", cuMemHostGetFlags(nullptr, g.pin));
  ONE("null.host_register", cuMemHostRegister(nullptr, 4096, 0));
  ONE("null.host_unregister", cuMemHostUnregister(nullptr));
  ONE("null.pointer_attr",
      cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, g.dbuf));
  ONE("null.memcpy_htod", cuMemcpyHtoD(g.dbuf, nullptr, 16));
  ONE("null.memcpy_htod_dst", cuMemcpyHtoD(0, g.pin, 16));
  ONE("null.memcpy_dtoh", cuMemcpyDtoH(nullptr, g.dbuf, 16));
  ONE("null.memcpy_dtod", cuMemcpyDtoD(0, 0, 16));
  ONE("null.memcpy", cuMemcpy(0, 0, 16));
  ONE("null.memcpy_async_htod", cuMemcpyHtoDAsync(g.dbuf, nullptr, 16, nullptr));
  ONE("null.memcpy_async_dtoh", cuMemcpyDtoHAsync(nullptr, g.dbuf, 16, nullptr));
  ONE("null.memset_d8", cuMemsetD8(0, 1, 16));
  ONE("null.memset_d32_async", cuMemsetD32Async(0, 1, 4, nullptr));
  ONE("null.memcpy2d", cuMemcpy2D(nullptr));
  ONE("null.memcpy3d", cuMemcpy3D(nullptr));
  ONE("null.malloc_async", cuMemAllocAsync(nullptr, 16, nullptr));
  ONE("null.free_async", cuMemFreeAsync(0, nullptr));
  ONE("null.pool_create", cuMemPoolCreate(nullptr, nullptr));
  ONE("null.pool_destroy", cuMemPoolDestroy(nullptr));
  ONE("null.pool_trim", cuMemPoolTrimTo(nullptr, 0));
  ONE("null.pool_alloc", cuMemAllocFromPoolAsync(nullptr, 16, nullptr, nullptr));
  ONE("null.pool_get_attr",
      cuMemPoolGetAttribute(nullptr, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, nullptr));
  ONE("null.default_pool", cuDeviceGetDefaultMemPool(nullptr, g.dev));
  ONE("null.wait_value", cuStreamWaitValue32(nullptr, 0, 1, 0));
  ONE("null.write_value", cuStreamWriteValue32(nullptr, 0, 1, 0));
  ONE("null.batch_memop", cuStreamBatchMemOp(nullptr, 1, nullptr, 0));
  ONE("null.graph_create", cuGraphCreate(nullptr, 0));
  ONE("null.graph_destroy", cuGraphDestroy(nullptr));
  ONE("null.graph_clone", cuGraphClone(nullptr, nullptr));
  ONE("null.graph_get_nodes", cuGraphGetNodes(nullptr, nullptr, nullptr));
  ONE("null.graph_get_edges", cuGraphGetEdges(nullptr, nullptr, nullptr, nullptr, nullptr));
  ONE("null.graph_get_roots", cuGraphGetRootNodes(nullptr, nullptr, nullptr));
  ONE("null.graph_instantiate", cuGraphInstantiate(nullptr, nullptr, 0));
  ONE("null.graph_instantiate_params", cuGraphInstantiateWithParams(nullptr, nullptr, nullptr));
  ONE("null.graph_launch", cuGraphLaunch(nullptr, nullptr));
  ONE("null.graph_upload", cuGraphUpload(nullptr, nullptr));
  ONE("null.graph_exec_destroy", cuGraphExecDestroy(nullptr));
  ONE("null.graph_exec_flags", cuGraphExecGetFlags(nullptr, nullptr));
  ONE("null.graph_exec_update", cuGraphExecUpdate(nullptr, nullptr, nullptr));
  ONE("null.graph_destroy_node", cuGraphDestroyNode(nullptr));
  ONE("null.graph_node_type", cuGraphNodeGetType(nullptr, nullptr));
  ONE("null.graph_node_deps", cuGraphNodeGetDependencies(nullptr, nullptr, nullptr, nullptr));
  ONE("null.graph_debug_dot", cuGraphDebugDotPrint(nullptr, nullptr, 0));
  ONE("null.graph_add_node", cuGraphAddNode(nullptr, nullptr, nullptr, nullptr, 0, nullptr));
  ONE("null.graph_mem_attr",
      cuDeviceGetGraphMemAttribute(g.dev, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, nullptr));
  add("null.graph_parts", [](Rec& r) {
    Graph gr;
    CUgraphNode n = nullptr;
    CUgraphExec x = nullptr;
    r.k("empty_out", cuGraphAddEmptyNode(nullptr, gr, nullptr, 0));
    r.k("empty_graph", cuGraphAddEmptyNode(&n, nullptr, nullptr, 0));
    r.k("empty_deps_null_count1", cuGraphAddEmptyNode(&n, gr, nullptr, 1));
    CUgraphNode nil = nullptr;
    r.k("empty_dep_null_node", cuGraphAddEmptyNode(&n, gr, &nil, 1));
    r.k("host_params", cuGraphAddHostNode(&n, gr, nullptr, 0, nullptr));
    r.k("memset_params", cuGraphAddMemsetNode(&n, gr, nullptr, 0, nullptr, g.ctx));
    r.k("memcpy_params", cuGraphAddMemcpyNode(&n, gr, nullptr, 0, nullptr, g.ctx));
    r.k("child_null", cuGraphAddChildGraphNode(&n, gr, nullptr, 0, nullptr));
    r.k("record_null", cuGraphAddEventRecordNode(&n, gr, nullptr, 0, nullptr));
    r.k("wait_null", cuGraphAddEventWaitNode(&n, gr, nullptr, 0, nullptr));
    r.k("memop_null", cuGraphAddBatchMemOpNode(&n, gr, nullptr, 0, nullptr));
    r.k("alloc_null", cuGraphAddMemAllocNode(&n, gr, nullptr, 0, nullptr));
    r.k("free_zero", cuGraphAddMemFreeNode(&n, gr, nullptr, 0, 0));
    r.k("get_nodes_null_count", cuGraphGetNodes(gr, nullptr, nullptr));
    r.k("clone_null_out", cuGraphClone(nullptr, gr));
    r.k("instantiate_null_out", cuGraphInstantiate(nullptr, gr, 0));
    r.k("instantiate_null_graph", cuGraphInstantiate(&x, nullptr, 0));
    r.k("nodes_left", count_nodes(gr));
  });
  ONE("null.user_object_create",
      cuUserObjectCreate(nullptr, nullptr, label_fn, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  ONE("null.user_object_retain", cuUserObjectRetain(nullptr, 1));
  ONE("null.user_object_release", cuUserObjectRelease(nullptr, 1));
  ONE("null.graph_retain_object", cuGraphRetainUserObject(nullptr, nullptr, 1, 0));
  ONE("null.ipc_event", cuIpcGetEventHandle(nullptr, nullptr));
  ONE("null.module_load", cuModuleLoadData(nullptr, nullptr));
}

}  // namespace weir::conformance
