// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_destroy.cpp - streams destroyed, graphs launched, memory allocated in a
// capture.
#include "probe/probe.hpp"

#include <cstring>

namespace weir::conformance {

void capture_destroy_cases() {
  add("capture.destroy_origin", ISO, [](Rec& r) {
    CUstream s = nullptr;
    Event e;
    OK(cuStreamCreate(&s, NB));
    begin(s);
    lab(s, "a");
    r.k("destroy", cuStreamDestroy(s));
    r.k("event_query_after", cuEventQuery(e));
    r.k("ctx_sync_after", cuCtxSynchronize());
    CUdeviceptr p = 0;
    r.k("mem_alloc_after", cuMemAlloc(&p, 64));
  });
  add("capture.destroy_forked", [](Rec& r) {
    Stream s(NB);
    CUstream t = nullptr;
    Event e;
    OK(cuStreamCreate(&t, NB));
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    lab(t, "b");
    r.k("destroy", cuStreamDestroy(t));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.destroy_joined_fork", [](Rec& r) {
    Stream s(NB);
    CUstream t = nullptr;
    Event e, j;
    OK(cuStreamCreate(&t, NB));
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    lab(t, "b");
    OK(cuEventRecord(j, t));
    OK(cuStreamWaitEvent(s, j, 0));
    r.k("destroy", cuStreamDestroy(t));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  for (const char* kind : {"empty", "host", "memset", "memcpy", "two_hosts"})
    add(std::string("capture.graph_launch.") + kind, [kind](Rec& r) {
      // whether the launch is captured as a child graph node
      for (CUstreamCaptureMode m : {GLOBAL, RELAXED}) {
        std::string k = lower(name_of(m));
        Stream s(NB);
        Graph inner;
        if (!strcmp(kind, "empty")) {
          add_empty(inner);
        } else if (!strcmp(kind, "memset")) {
          add_memset(inner, {}, g.dbuf, 1);
        } else if (!strcmp(kind, "memcpy")) {
          add_memcpy(inner, {}, copy_h2d(g.dbuf, g.pin, 64));
        } else {
          CUgraphNode a = add_label(inner, {}, "in1");
          if (!strcmp(kind, "two_hosts")) add_label(inner, {a}, "in2");
        }
        Exec x(inner);
        begin(s, m);
        lab(s, "a");
        r.k(k + ".launch", cuGraphLaunch(x, s));
        r.k(k + ".status", capture_status(s));
        if (capture_status(s) == "ACTIVE") lab(s, "b");
        CUgraph gr = nullptr;
        r.k(k + ".end", cuStreamEndCapture(s, &gr));
        if (!gr) continue;
        Graph own(gr);
        r.k(k + ".graph", describe(gr));
        for (CUgraphNode n : nodes_of(gr)) {
          if (type_of(n) != "GRAPH") continue;
          CUgraph ch = nullptr;
          r.k(k + ".get_graph", cuGraphChildGraphNodeGetGraph(n, &ch));
          r.k(k + ".child", describe(ch));
        }
      }
    });
  add("capture.graph_upload", [](Rec& r) {
    Stream s(NB);
    Graph inner;
    add_label(inner, {}, "in");
    Exec x(inner);
    begin(s);
    r.k("upload", cuGraphUpload(x, s));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.malloc_free_async", [](Rec& r) {
    Stream s(NB);
    begin(s);
    CUdeviceptr p = 0;
    r.k("malloc", cuMemAllocAsync(&p, 256, s));
    r.k("not_null", p != 0);
    r.k("memset", cuMemsetD8Async(p, 3, 256, s));
    r.k("free", cuMemFreeAsync(p, s));
    r.k("status", capture_status(s));
    CUgraph gr = nullptr;
    r.k("end", cuStreamEndCapture(s, &gr));
    Graph own(gr);
    r.k("graph", describe(gr));
  });
  add("capture.free_async_outside_pointer", [](Rec& r) {
    Stream s(NB), t(NB);
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 256, t));
    OK(cuStreamSynchronize(t));
    begin(s);
    r.k("free", cuMemFreeAsync(p, s));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
    r.k("free_outside", cuMemFreeAsync(p, t));
    OK(cuStreamSynchronize(t));
  });
  add("capture.free_async_twice", [](Rec& r) {
    Stream s(NB);
    begin(s);
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 256, s));
    OK(cuMemFreeAsync(p, s));
    r.k("second_free", cuMemFreeAsync(p, s));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.graph_pointer_freed_outside", [](Rec& r) {
    Stream s(NB), t(NB);
    begin(s, RELAXED);
    CUdeviceptr p = 0;
    OK(cuMemAllocAsync(&p, 256, s));
    r.k("free_other_stream", cuMemFreeAsync(p, t));
    r.k("mem_free", cuMemFree(p));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.attach_and_prefetch", [](Rec& r) {
    CUdeviceptr m = 0;
    OK(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
    {
      Stream s(NB);
      begin(s);
      r.k("attach", cuStreamAttachMemAsync(s, m, 0, CU_MEM_ATTACH_SINGLE));
      r.k("status", capture_status(s));
      rec_end(r, "end", s);
      begin(s);
      CUmemLocation loc{};
      loc.type = CU_MEM_LOCATION_TYPE_DEVICE;
      loc.id = g.dev;
      r.k("prefetch", cuMemPrefetchAsync(m, 4096, loc, 0, s));
      r.k("status2", capture_status(s));
      rec_end(r, "end2", s);
    }
    cuMemFree(m);
  });
  add("capture.batch_copy", [](Rec& r) {
    Stream s(NB);
    begin(s);
    CUdeviceptr d[2] = {g.dbuf, g.dbuf + 4096};
    CUdeviceptr sr[2] = {reinterpret_cast<CUdeviceptr>(g.pin),
                         reinterpret_cast<CUdeviceptr>(g.pin + 4096)};
    size_t sz[2] = {64, 64};
    CUmemcpyAttributes at{};
    at.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    size_t ix = 0;
    r.k("batch", cuMemcpyBatchAsync(d, sr, sz, 2, &at, &ix, 1, s));
    r.k("status", capture_status(s));
    CUgraph gr = nullptr;
    r.k("end", cuStreamEndCapture(s, &gr));
    Graph own(gr);
    r.k("graph", describe(gr));
  });
}

}  // namespace weir::conformance
