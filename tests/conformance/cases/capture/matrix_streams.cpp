// SPDX-License-Identifier: Apache-2.0
// cases/capture/matrix_streams.cpp - calls during a capture: work in streams that do not capture;
// pools and graphs; copies with other dimensions.
#include "cases/capture/capture_matrix.hpp"

#include <cstring>

namespace weir::conformance {
namespace {

CUDA_MEMCPY2D matrix_2d() {
  CUDA_MEMCPY2D c{};
  c.srcMemoryType = CU_MEMORYTYPE_HOST;
  c.srcHost = g.pin;
  c.srcPitch = 64;
  c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  c.dstDevice = g.dbuf;
  c.dstPitch = 64;
  c.WidthInBytes = 16;
  c.Height = 4;
  return c;
}

}  // namespace

MatrixCalls matrix_streams() {
  return {
      {"write_value_other",
       [](MatrixEnv& e) {
         return cuStreamWriteValue32(e.other, g.cells_dev + 16 * (kCells - 1), 1, 0);
       }},
      {"malloc_async_other",
       [](MatrixEnv& e) {
         CUdeviceptr p = 0;
         CUstream o = e.other;
         CUresult x = cuMemAllocAsync(&p, 64, o);
         if (x == CUDA_SUCCESS) e.undo.push_back([p, o] { cuMemFreeAsync(p, o); });
         return x;
       }},
      {"free_async_other",
       [](MatrixEnv& e) {
         CUresult x = cuMemFreeAsync(e.amem, e.other);
         if (x == CUDA_SUCCESS) e.amem = 0;
         return x;
       }},
      {"mem_free_of_async",
       [](MatrixEnv& e) {
         CUresult x = cuMemFree(e.amem);
         if (x == CUDA_SUCCESS) e.amem = 0;
         return x;
       }},
      {"pool_trim", [](MatrixEnv& e) { return cuMemPoolTrimTo(e.pool, 0); }},
      {"pool_get_attr",
       [](MatrixEnv& e) {
         cuuint64_t v;
         return cuMemPoolGetAttribute(e.pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &v);
       }},
      {"pool_create",
       [](MatrixEnv& e) {
         CUmemPoolProps p{};
         p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
         p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
         p.location.id = g.dev;
         CUmemoryPool q = nullptr;
         CUresult x = cuMemPoolCreate(&q, &p);
         if (x == CUDA_SUCCESS) e.undo.push_back([q] { cuMemPoolDestroy(q); });
         return x;
       }},
      {"graph_mem_trim", [](MatrixEnv&) { return cuDeviceGraphMemTrim(g.dev); }},
      {"graph_create",
       [](MatrixEnv& e) {
         CUgraph q = nullptr;
         CUresult x = cuGraphCreate(&q, 0);
         if (x == CUDA_SUCCESS) e.undo.push_back([q] { cuGraphDestroy(q); });
         return x;
       }},
      {"graph_instantiate",
       [](MatrixEnv& e) {
         CUgraphExec q = nullptr;
         CUresult x = cuGraphInstantiate(&q, e.graph, 0);
         if (x == CUDA_SUCCESS) e.undo.push_back([q] { cuGraphExecDestroy(q); });
         return x;
       }},
      {"graph_launch_other", [](MatrixEnv& e) { return cuGraphLaunch(e.exec, e.other); }},
      {"graph_launch_null", [](MatrixEnv& e) { return cuGraphLaunch(e.exec, nullptr); }},
      {"graph_upload_other", [](MatrixEnv& e) { return cuGraphUpload(e.exec, e.other); }},
      {"graph_exec_update",
       [](MatrixEnv& e) {
         CUgraphExecUpdateResultInfo i;
         return cuGraphExecUpdate(e.exec, e.graph, &i);
       }},
      {"graph_exec_destroy",
       [](MatrixEnv& e) {
         CUresult x = cuGraphExecDestroy(e.exec2);
         if (x == CUDA_SUCCESS) e.exec2 = nullptr;
         return x;
       }},
      {"array_create",
       [](MatrixEnv& e) {
         CUDA_ARRAY_DESCRIPTOR d{};
         d.Width = 16;
         d.Height = 16;
         d.Format = CU_AD_FORMAT_UNSIGNED_INT8;
         d.NumChannels = 1;
         CUarray a = nullptr;
         CUresult x = cuArrayCreate(&a, &d);
         if (x == CUDA_SUCCESS) e.undo.push_back([a] { cuArrayDestroy(a); });
         return x;
       }},
      {"prefetch_other",
       [](MatrixEnv& e) {
         CUmemLocation loc{};
         loc.type = CU_MEM_LOCATION_TYPE_DEVICE;
         loc.id = g.dev;
         return cuMemPrefetchAsync(e.managed, 4096, loc, 0, e.other);
       }},
      {"stream_get_flags",
       [](MatrixEnv& e) {
         unsigned f;
         return cuStreamGetFlags(e.cap, &f);
       }},
      {"stream_attr_other",
       [](MatrixEnv& e) {
         CUstreamAttrValue v;
         memset(&v, 0, sizeof v);
         v.syncPolicy = CU_SYNC_POLICY_AUTO;
         return cuStreamSetAttribute(e.other, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v);
       }},
      {"begin_end_other",
       [](MatrixEnv& e) {
         CUresult x = cuStreamBeginCapture(e.other, GLOBAL);
         if (x != CUDA_SUCCESS) return x;
         CUgraph q = nullptr;
         x = cuStreamEndCapture(e.other, &q);
         if (q) cuGraphDestroy(q);
         return x;
       }},
      {"is_capturing_null",
       [](MatrixEnv&) {
         CUstreamCaptureStatus st;
         return cuStreamIsCapturing(nullptr, &st);
       }},
      {"user_object",
       [](MatrixEnv&) {
         CUuserObject u = nullptr;
         CUresult x = cuUserObjectCreate(
             &u, nullptr, [](void*) {}, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
         if (x == CUDA_SUCCESS) x = cuUserObjectRelease(u, 1);
         return x;
       }},
      // ---- synchronous copies with other dimensions, through the legacy stream ----
      {"memcpy2d_sync",
       [](MatrixEnv&) {
         CUDA_MEMCPY2D c = matrix_2d();
         return cuMemcpy2D(&c);
       }},
      {"memcpy3d_sync",
       [](MatrixEnv&) {
         CUDA_MEMCPY3D c = copy_h2d(g.dbuf, g.pin, 64);
         return cuMemcpy3D(&c);
       }},
      {"memcpy_peer_sync",
       [](MatrixEnv&) { return cuMemcpyPeer(g.dbuf + 4096, g.ctx, g.dbuf, g.ctx, 64); }},
      {"memset2d_sync", [](MatrixEnv&) { return cuMemsetD2D8(g.dbuf, 256, 1, 16, 4); }},
      // ---- asynchronous work in a stream that does not capture ----
      {"memcpy2d_async_other",
       [](MatrixEnv& e) {
         CUDA_MEMCPY2D c = matrix_2d();
         return cuMemcpy2DAsync(&c, e.other);
       }},
      {"memcpy_peer_async_other",
       [](MatrixEnv& e) {
         return cuMemcpyPeerAsync(g.dbuf + 4096, g.ctx, g.dbuf, g.ctx, 64, e.other);
       }},
      {"memcpy_batch_other",
       [](MatrixEnv& e) {
         CUdeviceptr d = g.dbuf, sr = reinterpret_cast<CUdeviceptr>(g.pin);
         size_t n = 64, ix = 0;
         CUmemcpyAttributes at{};
         at.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
         return cuMemcpyBatchAsync(&d, &sr, &n, 1, &at, &ix, 1, e.other);
       }},
      {"attach_other",
       [](MatrixEnv& e) {
         return cuStreamAttachMemAsync(e.other, e.managed, 0, CU_MEM_ATTACH_GLOBAL);
       }},
      {"wait_value_other",
       [](MatrixEnv& e) {
         return cuStreamWaitValue32(e.other, g.cells_dev + 16 * (kCells - 2), 0,
                                    CU_STREAM_WAIT_VALUE_GEQ);
       }},
      {"batch_memop_other",
       [](MatrixEnv& e) {
         CUstreamBatchMemOpParams op = op_write(g.cells_dev + 16 * (kCells - 1), 1);
         return cuStreamBatchMemOp(e.other, 1, &op, 0);
       }},
      {"event_record_external_other",
       [](MatrixEnv& e) {
         return cuEventRecordWithFlags(e.done, e.other, CU_EVENT_RECORD_EXTERNAL);
       }},
      {"alloc_from_pool_other",
       [](MatrixEnv& e) {
         CUdeviceptr p = 0;
         CUstream o = e.other;
         CUresult x = cuMemAllocFromPoolAsync(&p, 64, e.pool, o);
         if (x == CUDA_SUCCESS) e.undo.push_back([p, o] { cuMemFreeAsync(p, o); });
         return x;
       }},
      // ---- the null stream ----
      {"write_value_null",
       [](MatrixEnv&) {
         return cuStreamWriteValue32(nullptr, g.cells_dev + 16 * (kCells - 1), 1, 0);
       }},
      {"wait_value_null",
       [](MatrixEnv&) {
         return cuStreamWaitValue32(nullptr, g.cells_dev + 16 * (kCells - 2), 0,
                                    CU_STREAM_WAIT_VALUE_GEQ);
       }},
      {"callback_null",
       [](MatrixEnv&) {
         return cuStreamAddCallback(
             nullptr, [](CUstream, CUresult, void*) {}, nullptr, 0);
       }},
      {"malloc_async_null",
       [](MatrixEnv& e) {
         CUdeviceptr p = 0;
         CUresult x = cuMemAllocAsync(&p, 64, nullptr);
         if (x == CUDA_SUCCESS) e.undo.push_back([p] { cuMemFreeAsync(p, nullptr); });
         return x;
       }},
      {"free_async_null",
       [](MatrixEnv& e) {
         CUresult x = cuMemFreeAsync(e.amem, nullptr);
         if (x == CUDA_SUCCESS) e.amem = 0;
         return x;
       }},
      {"graph_upload_null", [](MatrixEnv& e) { return cuGraphUpload(e.exec, nullptr); }},
      {"attach_null",
       [](MatrixEnv& e) {
         return cuStreamAttachMemAsync(nullptr, e.managed, 0, CU_MEM_ATTACH_GLOBAL);
       }},
      {"begin_null", [](MatrixEnv&) { return cuStreamBeginCapture(nullptr, GLOBAL); }},
      {"stream_get_flags_null",
       [](MatrixEnv&) {
         unsigned f;
         return cuStreamGetFlags(nullptr, &f);
       }},
      {"stream_get_priority_null",
       [](MatrixEnv&) {
         int p;
         return cuStreamGetPriority(nullptr, &p);
       }},
      {"stream_get_id_null",
       [](MatrixEnv&) {
         unsigned long long id;
         return cuStreamGetId(nullptr, &id);
       }},
      {"stream_get_ctx_null",
       [](MatrixEnv&) {
         CUcontext c;
         return cuStreamGetCtx(nullptr, &c);
       }},
      {"stream_get_attr_null",
       [](MatrixEnv&) {
         CUstreamAttrValue v;
         return cuStreamGetAttribute(nullptr, CU_STREAM_ATTRIBUTE_PRIORITY, &v);
       }},
      {"capture_info_null",
       [](MatrixEnv&) {
         CUstreamCaptureStatus st;
         return cuStreamGetCaptureInfo(nullptr, &st, nullptr, nullptr, nullptr, nullptr, nullptr);
       }},
      {"wait_captured_event_null",
       [](MatrixEnv& e) {
         CUresult x = cuEventRecord(e.unrec, e.cap);
         return x == CUDA_SUCCESS ? cuStreamWaitEvent(nullptr, e.unrec, 0) : x;
       }},
  };
}

}  // namespace weir::conformance
