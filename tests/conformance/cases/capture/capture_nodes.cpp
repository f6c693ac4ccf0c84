// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_nodes.cpp - which calls become nodes, and what a capture reports about
// itself.
#include "probe/probe.hpp"

#include <functional>

namespace weir::conformance {

void capture_nodes_cases() {
  add("capture.empty", [](Rec& r) {
    Stream s(NB);
    begin(s);
    CUgraph gr = end_ok(s);
    Graph own(gr);
    r.k("graph_not_null", gr != nullptr);
    r.k("nodes", count_nodes(gr));
    CUgraphExec x = nullptr;
    r.k("instantiate", cuGraphInstantiate(&x, gr, 0));
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    if (x) cuGraphExecDestroy(x);
  });
  add("capture.linear", [](Rec& r) {
    Stream s(NB);
    begin(s);
    lab(s, "a");
    lab(s, "b");
    lab(s, "c");
    CUgraph gr = end_ok(s);
    Graph own(gr);
    r.k("graph", describe(gr));
    r.k("roots", count_roots(gr));
  });
  add("capture.not_executed", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Trace& t = new_trace();
    begin(s);
    mark(s, c);
    hf(s, t, "x");
    CUgraph gr = end_ok(s);
    Graph own(gr);
    OK(cuStreamSynchronize(s));
    r.k("memset_ran", early(c));
    r.k("host_ran", t.size());
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("memset_after_launch", c.get());
    r.k("host_after_two_launches", t.size());
  });
  add("capture.node_kinds", [](Rec& r) {
    Stream s(NB);
    Event e;
    begin(s);
    OK(cuMemsetD8Async(g.dbuf, 1, 64, s));
    OK(cuMemcpyHtoDAsync(g.dbuf, g.pin, 64, s));
    OK(cuMemcpyDtoDAsync(g.dbuf + 4096, g.dbuf, 64, s));
    OK(cuMemcpyDtoHAsync(g.pin, g.dbuf, 64, s));
    lab(s, "h");
    r.k("record_ext", cuEventRecordWithFlags(e, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("wait_ext", cuStreamWaitEvent(s, e, CU_EVENT_WAIT_EXTERNAL));
    r.k("write_value", cuStreamWriteValue32(s, new_cell().d, 1, 0));
    r.k("wait_value", cuStreamWaitValue32(s, new_cell(1).d, 1, 0));
    CUstreamBatchMemOpParams ops[2] = {op_write(new_cell().d, 1), op_write(new_cell().d, 2)};
    r.k("batch", cuStreamBatchMemOp(s, 2, ops, 0));
    CUgraph gr = nullptr;
    r.k("end", cuStreamEndCapture(s, &gr));
    Graph own(gr);
    r.k("types", gr ? listed_types(gr) : "null");
    r.k("edges", count_edges(gr));
  });
  add("capture.memcpy_kinds", [](Rec& r) {
    struct {
      const char* n;
      std::function<CUresult(CUstream)> f;
    } list[] = {
        {"htod_pageable", [](CUstream s) { return cuMemcpyHtoDAsync(g.dbuf, g.page, 64, s); }},
        {"dtoh_pageable", [](CUstream s) { return cuMemcpyDtoHAsync(g.page, g.dbuf, 64, s); }},
        {"htod_pageable_1m",
         [](CUstream s) { return cuMemcpyHtoDAsync(g.dbuf, g.page, 1 << 20, s); }},
        {"uva_htod",
         [](CUstream s) {
           return cuMemcpyAsync(g.dbuf, reinterpret_cast<CUdeviceptr>(g.pin), 64, s);
         }},
        {"htoh_pinned",
         [](CUstream s) {
           return cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(g.pin + 64),
                                reinterpret_cast<CUdeviceptr>(g.pin), 64, s);
         }},
        {"htoh_pageable",
         [](CUstream s) {
           return cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(g.page + 64),
                                reinterpret_cast<CUdeviceptr>(g.page), 64, s);
         }},
        {"peer_same_ctx",
         [](CUstream s) { return cuMemcpyPeerAsync(g.dbuf + 4096, g.ctx, g.dbuf, g.ctx, 64, s); }},
        {"zero_bytes", [](CUstream s) { return cuMemcpyDtoDAsync(g.dbuf + 4096, g.dbuf, 0, s); }},
        {"zero_bytes_null", [](CUstream s) { return cuMemcpyDtoDAsync(0, 0, 0, s); }},
        {"bad_pointer", [](CUstream s) { return cuMemcpyDtoDAsync(g.dbuf, 0, 64, s); }},
        {"out_of_bounds",
         [](CUstream s) { return cuMemcpyDtoDAsync(g.dbuf, g.dbuf + kScratch - 16, 64, s); }},
        {"copy2d",
         [](CUstream s) {
           CUDA_MEMCPY2D p{};
           p.srcMemoryType = CU_MEMORYTYPE_HOST;
           p.srcHost = g.pin;
           p.srcPitch = 128;
           p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
           p.dstDevice = g.dbuf;
           p.dstPitch = 256;
           p.WidthInBytes = 64;
           p.Height = 4;
           return cuMemcpy2DAsync(&p, s);
         }},
        {"copy3d",
         [](CUstream s) {
           CUDA_MEMCPY3D p = copy_h2d(g.dbuf, g.pin, 64);
           return cuMemcpy3DAsync(&p, s);
         }},
        {"memset_d16", [](CUstream s) { return cuMemsetD16Async(g.dbuf, 3, 8, s); }},
        {"memset_2d", [](CUstream s) { return cuMemsetD2D32Async(g.dbuf, 256, 3, 8, 4, s); }},
        {"memset_zero", [](CUstream s) { return cuMemsetD8Async(g.dbuf, 3, 0, s); }},
        {"memset_null_zero", [](CUstream s) { return cuMemsetD8Async(0, 3, 0, s); }},
        {"memset_misaligned", [](CUstream s) { return cuMemsetD32Async(g.dbuf + 1, 3, 1, s); }},
        {"memset_pinned",
         [](CUstream s) { return cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(g.pin), 3, 8, s); }},
    };
    for (auto& x : list) {
      Stream s(NB);
      begin(s);
      std::string k = x.n;
      r.k(k, x.f(s));
      r.k(k + ".status", capture_status(s));
      CUgraph gr = nullptr;
      CUresult e = cuStreamEndCapture(s, &gr);
      Graph own(gr);
      r.k(k + ".end", e);
      r.k(k + ".types", gr ? listed_types(gr) : "null");
    }
  });
  add("capture.status_query", [](Rec& r) {
    Stream s(NB), b(BL);
    r.k("none", capture_status(s));
    begin(s);
    r.k("active", capture_status(s));
    r.k("other", capture_status(b));
    r.k("legacy_with_nonblocking_capture", capture_status(LEGACY));
    r.k("null_with_nonblocking_capture", capture_status(nullptr));
    rec_end(r, "end", s);
    begin(b);
    r.k("legacy_with_blocking_capture", capture_status(LEGACY));
    r.k("null_with_blocking_capture", capture_status(nullptr));
    r.k("per_thread_with_blocking_capture", capture_status(PER_THREAD));
    r.k("nonblocking_with_blocking_capture", capture_status(s));
    r.k("still_active", capture_status(b));
    CUstreamCaptureStatus st;
    cuuint64_t id = 0;
    CUgraph gr = nullptr;
    r.k("info_legacy", cuStreamGetCaptureInfo(LEGACY, &st, &id, &gr, nullptr, nullptr, nullptr));
    r.k("still_active2", capture_status(b));
    r.k("out_null", cuStreamIsCapturing(b, nullptr));
    r.k("still_active3", capture_status(b));
    rec_end(r, "end2", b);
    r.k("legacy_after", capture_status(LEGACY));
  });
  add("capture.per_thread_capture_and_legacy", [](Rec& r) {
    begin(PER_THREAD);
    r.k("legacy_status", capture_status(LEGACY));
    Cell c = new_cell();
    r.k("memset_legacy", cuMemsetD32Async(c.d, 1, 1, LEGACY));
    r.k("status", capture_status(PER_THREAD));
    rec_end(r, "end", PER_THREAD);
    OK(cuCtxSynchronize());
  });
  add("capture.info", [](Rec& r) {
    Stream s(NB), t(NB), u(NB);
    Event e;
    CUstreamCaptureStatus st = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    cuuint64_t id = 77;
    CUgraph gr = reinterpret_cast<CUgraph>(static_cast<uintptr_t>(0x10));
    const CUgraphNode* d = nullptr;
    const CUgraphEdgeData* ed = nullptr;
    size_t n = 77;
    r.k("not_capturing", cuStreamGetCaptureInfo(s, &st, &id, &gr, &d, &ed, &n));
    r.k("not_capturing.status", st);
    begin(s);
    r.k("fresh", cuStreamGetCaptureInfo(s, &st, &id, &gr, &d, &ed, &n));
    r.k("fresh.status", st);
    r.k("fresh.deps", n);
    r.k("fresh.id_nonzero", id != 0);
    r.k("fresh.graph", gr != nullptr);
    lab(s, "a");
    r.k("after_a", capture_dep_labels(s));
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    r.k("forked_deps", capture_dep_labels(t));
    r.k("same_id", capture_id(s) == capture_id(t));
    r.k("same_graph", capture_graph(s) == capture_graph(t));
    lab(s, "b");
    lab(t, "c");
    r.k("s", capture_dep_labels(s));
    r.k("t", capture_dep_labels(t));
    OK(cuEventRecord(e, t));
    OK(cuStreamWaitEvent(s, e, 0));
    r.k("joined", capture_dep_labels(s));
    begin(u);
    r.k("other_id_differs", capture_id(u) != capture_id(s));
    rec_end(r, "end_u", u);
    r.k("status_null", cuStreamGetCaptureInfo(s, nullptr, &id, nullptr, nullptr, nullptr, nullptr));
    r.k("edges_without_deps", cuStreamGetCaptureInfo(s, &st, nullptr, nullptr, nullptr, &ed, &n));
    r.k("deps_without_count",
        cuStreamGetCaptureInfo(s, &st, nullptr, nullptr, &d, nullptr, nullptr));
    r.k("only_count", cuStreamGetCaptureInfo(s, &st, nullptr, nullptr, nullptr, nullptr, &n));
    r.k("only_count.n", n);
    r.k("still", capture_status(s));
    CUgraph during = capture_graph(s);
    CUgraph gr2 = nullptr;
    r.k("end", cuStreamEndCapture(s, &gr2));
    r.k("graph_handle_same", gr2 == during);
    r.k("graph", describe(gr2));
    if (gr2) cuGraphDestroy(gr2);
    cuuint64_t before = id;
    begin(s);
    r.k("new_id", capture_id(s) != before);
    rec_end(r, "end3", s);
  });
}

}  // namespace weir::conformance
