// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_matrix.cpp - potentially unsafe calls in a capture (capmode.), and calls
// that touch the legacy stream (capimpl.).
#include "cases/capture/capture_matrix.hpp"

#include <set>
#include <string>
#include <thread>

namespace weir::conformance {
namespace {

alignas(4096) unsigned char g_reg_pages[4][8192];

// Makes one call in one capture and ends it. With thread_mode < 0 the capturing thread makes the
// call.
void matrix_one(Rec& r, const std::string& key, unsigned stream_flags, CUstreamCaptureMode mode,
                int thread_mode, const MatrixCall& call, int slot) {
  MatrixEnv e;
  Stream cap(stream_flags), other(NB);
  OK(cuStreamCreate(&e.otherb, BL));
  Event unrec(0);
  Event done(0);
  OK(cuEventCreate(&e.done2, 0));
  OK(cuEventRecord(done, other));
  OK(cuEventRecord(e.done2, other));
  Graph gr;
  add_empty(gr);
  Exec x(gr);
  OK(cuGraphInstantiate(&e.exec2, gr, 0));
  e.cap = cap;
  e.other = other;
  e.unrec = unrec;
  e.done = done;
  e.graph = gr;
  e.exec = x;
  OK(cuMemAlloc(&e.mem, 64));
  std::string n = call.name;
  if (n == "mem_free_host") OK(cuMemHostAlloc(&e.host, 64, 0));
  static const std::set<std::string> managed = {"prefetch_other", "attach_other", "attach_null",
                                                "mem_advise"};
  if (managed.count(n)) OK(cuMemAllocManaged(&e.managed, 4096, CU_MEM_ATTACH_GLOBAL));
  e.page = g_reg_pages[slot & 1];
  if (n == "host_unregister") {
    OK(cuMemHostRegister(g_reg_pages[2 + (slot & 1)], 4096, 0));
    e.regd = g_reg_pages[2 + (slot & 1)];
  }
  if (n == "ipc_event_handle")
    OK(cuEventCreate(&e.ipc, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  if (n == "pool_destroy" || n == "pool_set_attr" || n == "pool_set_access" ||
      n == "pool_get_access") {
    CUmemPoolProps p{};
    p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = g.dev;
    OK(cuMemPoolCreate(&e.own_pool, &p));
  }
  if (n.rfind("graph_", 0) == 0) {
    OK(cuGraphCreate(&e.graph2, 0));
    e.node_set = add_memset(e.graph2, {}, g.dbuf, 2);
    e.node_host = add_label(e.graph2, {}, "y");
    OK(cuGraphInstantiate(&e.exec3, e.graph2, 0));
  }
  if (n == "free_async_other" || n == "free_async_null" || n == "mem_free_of_async")
    OK(cuMemAllocAsync(&e.amem, 64, other));
  OK(cuDeviceGetDefaultMemPool(&e.pool, g.dev));
  OK(cuCtxSynchronize());

  OK(cuStreamBeginCapture(cap, mode));
  OK(cuLaunchHostFunc(cap, label_fn, new_label("a")));
  CUresult res = CUDA_ERROR_UNKNOWN;
  if (thread_mode < 0) {
    res = call.call(e);
  } else {
    std::thread th([&] {
      cuCtxSetCurrent(g.ctx);
      CUstreamCaptureMode m = static_cast<CUstreamCaptureMode>(thread_mode);
      if (m != GLOBAL) cuThreadExchangeStreamCaptureMode(&m);
      res = call.call(e);
    });
    th.join();
  }
  std::string status = capture_status(cap);
  CUgraph out = nullptr;
  CUresult end = cuStreamEndCapture(cap, &out);
  std::string graph = out ? std::to_string(count_nodes(out)) : "null";
  if (out) cuGraphDestroy(out);
  r.k(key + ".call", res);
  r.k(key + ".status", status);
  r.k(key + ".end", end);
  r.k(key + ".nodes", graph);

  cuCtxSynchronize();
  for (auto& u : e.undo) u();
  if (e.mem) cuMemFree(e.mem);
  if (e.amem) cuMemFreeAsync(e.amem, other);
  if (e.managed) cuMemFree(e.managed);
  if (e.host) cuMemFreeHost(e.host);
  if (e.regd) cuMemHostUnregister(e.regd);
  if (e.exec2) cuGraphExecDestroy(e.exec2);
  if (e.exec3) cuGraphExecDestroy(e.exec3);
  if (e.graph2) cuGraphDestroy(e.graph2);
  if (e.own_pool) cuMemPoolDestroy(e.own_pool);
  if (e.ipc) cuEventDestroy(e.ipc);
  if (e.done2) cuEventDestroy(e.done2);
  if (e.otherb) cuStreamDestroy(e.otherb);
  cuStreamSynchronize(other);
}

}  // namespace

const MatrixCalls& matrix_calls() {
  static const MatrixCalls all = [] {
    MatrixCalls calls;
    for (MatrixCalls (*part)() : {matrix_objects, matrix_streams, matrix_queries, matrix_graphs})
      for (MatrixCall& call : part()) calls.push_back(std::move(call));
    return calls;
  }();
  return all;
}

// A non-blocking stream captures.
void capmode_cases() {
  const auto& calls = matrix_calls();
  for (CUstreamCaptureMode m : {GLOBAL, LOCAL, RELAXED}) {
    for (size_t i = 0; i < calls.size(); i++) {
      add("capmode." + lower(name_of(m)) + "." + calls[i].name, [m, i](Rec& r) {
        const MatrixCall& c = matrix_calls()[i];
        matrix_one(r, "same", NB, m, -1, c, 0);
        matrix_one(r, "other", NB, m, CU_STREAM_CAPTURE_MODE_GLOBAL, c, 1);
        matrix_one(r, "other_local", NB, m, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, c, 0);
        matrix_one(r, "other_relaxed", NB, m, CU_STREAM_CAPTURE_MODE_RELAXED, c, 1);
      });
    }
  }
}

// A blocking stream captures.
void capimpl_cases() {
  static const std::set<std::string> names = {"memcpy_htod_sync",
                                              "memcpy_dtoh_sync",
                                              "memcpy_dtod_sync",
                                              "memcpy_sync",
                                              "memset_sync",
                                              "memcpy_async_null",
                                              "memset_async_null",
                                              "hostfn_null",
                                              "event_record_null",
                                              "stream_wait_event_null",
                                              "stream_query_null",
                                              "stream_sync_null",
                                              "stream_query_per_thread",
                                              "memset_async_per_thread",
                                              "memset_async_other",
                                              "memset_async_blocking",
                                              "graph_launch_null",
                                              "ctx_sync",
                                              "mem_alloc",
                                              "mem_free",
                                              "stream_create_blocking",
                                              "stream_destroy_other",
                                              "event_query_done",
                                              "stream_query_other",
                                              "stream_sync_other",
                                              "is_capturing_null",
                                              "host_register",
                                              "mem_host_alloc",
                                              "ctx_record_event",
                                              "ctx_wait_event",
                                              "begin_end_other",
                                              "memcpy2d_sync",
                                              "memcpy3d_sync",
                                              "memcpy_peer_sync",
                                              "memset2d_sync",
                                              "write_value_null",
                                              "wait_value_null",
                                              "callback_null",
                                              "malloc_async_null",
                                              "free_async_null",
                                              "graph_upload_null",
                                              "attach_null",
                                              "begin_null",
                                              "stream_get_flags_null",
                                              "stream_get_priority_null",
                                              "stream_get_id_null",
                                              "stream_get_ctx_null",
                                              "stream_get_attr_null",
                                              "capture_info_null",
                                              "wait_captured_event_null"};
  const auto& calls = matrix_calls();
  for (CUstreamCaptureMode m : {GLOBAL, LOCAL, RELAXED}) {
    for (size_t i = 0; i < calls.size(); i++) {
      if (!names.count(calls[i].name)) continue;
      add("capimpl." + lower(name_of(m)) + "." + calls[i].name, [m, i](Rec& r) {
        const MatrixCall& c = matrix_calls()[i];
        matrix_one(r, "same", BL, m, -1, c, 0);
        matrix_one(r, "other", BL, m, CU_STREAM_CAPTURE_MODE_GLOBAL, c, 1);
        matrix_one(r, "other_relaxed", BL, m, CU_STREAM_CAPTURE_MODE_RELAXED, c, 0);
      });
    }
  }
}

}  // namespace weir::conformance
