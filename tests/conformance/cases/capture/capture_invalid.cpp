// SPDX-License-Identifier: Apache-2.0
// cases/capture/capture_invalid.cpp - calls that fail in a capture, and calls that invalidate it.
#include "probe/probe.hpp"

#include <functional>

namespace weir::conformance {

void capture_invalid_cases() {
  add("capture.callback_rejected", [](Rec& r) {
    Stream s(NB);
    begin(s);
    lab(s, "a");
    r.k("add", cuStreamAddCallback(
                   s, [](CUstream, CUresult, void*) {}, nullptr, 0));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("capture.callback_on_forked", [](Rec& r) {
    Stream s(NB), t(NB);
    Event e;
    begin(s);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    r.k("add", cuStreamAddCallback(
                   t, [](CUstream, CUresult, void*) {}, nullptr, 0));
    r.k("s_status", capture_status(s));
    r.k("t_status", capture_status(t));
    rec_end(r, "end_forked", t);
    rec_end(r, "end", s);
  });
  add("capture.after_invalidation", [](Rec& r) {
    Stream s(NB), t(NB), u(NB);
    Event e, f;
    begin(s);
    lab(s, "a");
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(t, e, 0));
    cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) {}, nullptr, 0);
    r.k("status", capture_status(s));
    r.k("status_forked", capture_status(t));
    CUstreamCaptureStatus st;
    cuuint64_t id = 0;
    CUgraph gr = nullptr;
    r.k("info", cuStreamGetCaptureInfo(s, &st, &id, &gr, nullptr, nullptr, nullptr));
    r.k("info.status", st);
    Trace& tr = new_trace();
    r.k("host_func", try_hf(s, tr, "x"));
    r.k("host_func_forked", try_hf(t, tr, "x"));
    r.k("memset", cuMemsetD8Async(g.dbuf, 1, 16, s));
    r.k("record", cuEventRecord(f, s));
    r.k("wait_captured", cuStreamWaitEvent(s, e, 0));
    r.k("wait_from_new_stream", cuStreamWaitEvent(u, e, 0));
    r.k("new_stream_status", capture_status(u));
    r.k("query", cuStreamQuery(s));
    r.k("begin", cuStreamBeginCapture(s, GLOBAL));
    r.k("event_query", cuEventQuery(e));
    rec_end(r, "end_forked", t);
    rec_end(r, "end", s);
    r.k("status_after", capture_status(s));
    r.k("status_forked_after", capture_status(t));
    r.k("event_query_after", cuEventQuery(e));
    r.k("host_func_after", try_hf(s, tr, "y"));
    r.k("ran", tr.wait_size(1, kMustHappenMs));
    OK(cuStreamSynchronize(s));
    begin(s);
    lab(s, "again");
    rec_end(r, "end_again", s);
  });
  add("capture.invalidated_end_other_thread", [](Rec& r) {
    Stream s(NB);
    begin(s, GLOBAL);
    cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) {}, nullptr, 0);
    r.k("status", capture_status(s));
    on_thread([&] { rec_end(r, "other", s); });
    r.k("status2", capture_status(s));
    rec_end(r, "own", s);
  });
  add("capture.bad_argument_does_what", [](Rec& r) {
    // whether a call that fails on its arguments invalidates the capture
    struct {
      const char* n;
      std::function<CUresult(CUstream)> f;
    } list[] = {
        {"memcpy_null", [](CUstream s) { return cuMemcpyDtoDAsync(0, 0, 64, s); }},
        {"memset_misaligned", [](CUstream s) { return cuMemsetD32Async(g.dbuf + 1, 0, 1, s); }},
        {"host_null", [](CUstream s) { return cuLaunchHostFunc(s, nullptr, nullptr); }},
        {"wait_null", [](CUstream s) { return cuStreamWaitEvent(s, nullptr, 0); }},
        {"record_null", [](CUstream s) { return cuEventRecord(nullptr, s); }},
        {"record_flags2", [](CUstream s) { return cuEventRecordWithFlags(g.unrecorded, s, 2); }},
        {"wait_flags2", [](CUstream s) { return cuStreamWaitEvent(s, g.unrecorded, 2); }},
        {"wait_value_misaligned",
         [](CUstream s) { return cuStreamWaitValue32(s, g.cells_dev + 1, 1, 0); }},
        {"wait_value_flags8", [](CUstream s) { return cuStreamWaitValue32(s, g.cells_dev, 1, 8); }},
        {"free_async_of_mem_alloc", [](CUstream s) { return cuMemFreeAsync(g.dbuf, s); }},
        {"malloc_async_0",
         [](CUstream s) {
           CUdeviceptr p = 0;
           return cuMemAllocAsync(&p, 0, s);
         }},
        {"graph_launch_null", [](CUstream s) { return cuGraphLaunch(nullptr, s); }},
        {"callback_null", [](CUstream s) { return cuStreamAddCallback(s, nullptr, nullptr, 0); }},
        {"callback_flags1",
         [](CUstream s) {
           return cuStreamAddCallback(
               s, [](CUstream, CUresult, void*) {}, nullptr, 1);
         }},
        {"begin_again", [](CUstream s) { return cuStreamBeginCapture(s, GLOBAL); }},
        {"end_null", [](CUstream s) { return cuStreamEndCapture(s, nullptr); }},
        {"update_deps_flags7",
         [](CUstream s) { return cuStreamUpdateCaptureDependencies(s, nullptr, nullptr, 0, 7); }},
        {"info_null",
         [](CUstream s) {
           return cuStreamGetCaptureInfo(s, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
         }},
    };
    for (auto& x : list) {
      Stream s(NB);
      begin(s);
      lab(s, "a");
      std::string k = x.n;
      r.k(k, x.f(s));
      r.k(k + ".status", capture_status(s));
      rec_end(r, k + ".end", s);
    }
  });
}

}  // namespace weir::conformance
