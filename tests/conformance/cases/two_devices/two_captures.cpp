// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_captures.cpp - captures that fork from one device's stream to the other's.
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

// Forks from a stream of device 0 to one of device 1 and joins back, with an event of each device.
CUgraph fork_and_join(Rec& r, const SecondDevice& device1, CUstream s, Trace* t) {
  Event f;
  CUevent j = nullptr;
  {
    const Current current(device1.ctx);
    OK(cuEventCreate(&j, CU_EVENT_DISABLE_TIMING));
  }
  begin(s);
  OK(cuLaunchHostFunc(s, label_fn, new_label("a", t)));
  r.k("fork_record", cuEventRecord(f, s));
  r.k("fork_wait", cuStreamWaitEvent(device1.s, f, 0));
  r.k("far_status", capture_status(device1.s));
  r.k("far_host", cuLaunchHostFunc(device1.s, label_fn, new_label("b", t)));
  r.k("far_set", cuMemsetD32Async(device1.mem, 9, 16, device1.s));
  r.k("join_record", cuEventRecord(j, device1.s));
  r.k("join_wait", cuStreamWaitEvent(s, j, 0));
  r.k("near_host", cuLaunchHostFunc(s, label_fn, new_label("c")));
  CUgraph gr = nullptr;
  r.k("end", cuStreamEndCapture(s, &gr));
  OK(cuEventDestroy(j));
  return gr;
}

}  // namespace

void two_captures_cases() {
  add("two.capture_fork_join", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    Trace& t = new_trace();
    Graph gr(fork_and_join(r, device1, s, &t));
    if (!gr.h) return;
    r.k("graph", describe(gr));
    Exec x(gr);
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("ran", t.str());
    r.k("word", get_word(device1.ctx, device1.mem));
    put_words(device1.ctx, device1.mem, 0);
    r.k("launch_far", cuGraphLaunch(x, device1.s));
    r.k("sync_far", cuStreamSynchronize(device1.s));
    r.k("word_far", get_word(device1.ctx, device1.mem));
  });
  add("two.capture_fork_unjoined", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    Event f;
    begin(s);
    OK(cuEventRecord(f, s));
    r.k("fork", cuStreamWaitEvent(device1.s, f, 0));
    r.k("far_host", cuLaunchHostFunc(device1.s, label_fn, new_label("b")));
    rec_end(r, "end", s);
    r.k("far_status", capture_status(device1.s));
    r.k("far_query", cuStreamQuery(device1.s));
  });
  add("two.capture_ended_at_far", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    Event f;
    begin(s);
    OK(cuEventRecord(f, s));
    r.k("fork", cuStreamWaitEvent(device1.s, f, 0));
    CUgraph gr = nullptr;
    r.k("end_far", cuStreamEndCapture(device1.s, &gr));
    r.k("near_status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("two.capture_begun_at_far", SECOND_DEVICE, [](Rec& r) {
    // Begun and ended while device 0's context is current.
    const SecondDevice device1;
    r.k("begin", cuStreamBeginCapture(device1.s, GLOBAL));
    r.k("set", cuMemsetD32Async(device1.mem, 3, 16, device1.s));
    r.k("set_near", cuMemsetD32Async(g.dbuf, 3, 16, device1.s));
    r.k("host", cuLaunchHostFunc(device1.s, label_fn, new_label("a")));
    CUgraph made = nullptr;
    r.k("end", cuStreamEndCapture(device1.s, &made));
    if (!made) return;
    Graph gr(made);
    r.k("graph", describe(gr));
    Exec x(gr);
    r.k("launch", cuGraphLaunch(x, device1.s));
    r.k("sync", cuStreamSynchronize(device1.s));
    r.k("word", get_word(device1.ctx, device1.mem));
  });
  add("two.capture_unsafe_calls", SECOND_DEVICE, [](Rec& r) {
    // The mode prohibits calls for the other device, too.
    const SecondDevice device1;
    Stream s(NB);
    const auto while_near = [&](const char* key, const auto& f) {
      begin(s);
      const CUresult res = f();
      r.k(key, res);
      r.k(std::string(key) + ".status", capture_status(s));
      CUgraph gr = nullptr;
      if (cuStreamEndCapture(s, &gr) == CUDA_SUCCESS && gr) cuGraphDestroy(gr);
    };
    CUdeviceptr p = 0;
    while_near("alloc_far", [&] {
      const Current current(device1.ctx);
      return cuMemAlloc(&p, 64);
    });
    if (p) cuMemFree(p);
    while_near("stream_query_far", [&] { return cuStreamQuery(device1.s); });
    while_near("stream_sync_far", [&] { return cuStreamSynchronize(device1.s); });
    while_near("context_sync_far", [&] { return cuCtxSynchronize_v2(device1.ctx); });
    while_near("copy_at_once_far", [&] {
      const Current current(device1.ctx);
      return cuMemcpyHtoD(device1.mem, g.pin, 64);
    });
    while_near("copy_peer_at_once",
               [&] { return cuMemcpyPeer(g.dbuf, g.ctx, device1.mem, device1.ctx, 64); });
    while_near("set_far_stream", [&] { return cuMemsetD32Async(device1.mem, 1, 1, device1.s); });
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.capture_blocking_and_far_legacy", SECOND_DEVICE, [](Rec& r) {
    // A blocking stream of device 0 captures: device 0's legacy stream is prohibited, device 1's is
    // not.
    const SecondDevice device1;
    Stream s(BL);
    begin(s);
    {
      const Current current(device1.ctx);
      r.k("far_set", cuMemsetD32(device1.mem, 1, 1));
      r.k("far_set_async", cuMemsetD32Async(device1.mem, 1, 1, nullptr));
      r.k("far_copy", cuMemcpyHtoD(device1.mem, g.pin, 64));
    }
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
  });
  add("two.capture_far_event", SECOND_DEVICE, [](Rec& r) {
    // An uncaptured event of device 1 in a capture of device 0, and a captured event of device 0
    // outside of it.
    const SecondDevice device1;
    Stream s(NB);
    Event f;
    CUevent there = nullptr;
    {
      const Current current(device1.ctx);
      OK(cuEventCreate(&there, CU_EVENT_DISABLE_TIMING));
    }
    OK(cuEventRecord(there, device1.s));
    begin(s);
    r.k("wait_uncaptured", cuStreamWaitEvent(s, there, 0));
    r.k("status", capture_status(s));
    rec_end(r, "end", s);
    begin(s);
    r.k("record_far", cuEventRecord(there, s));
    r.k("record_far.status", capture_status(s));
    rec_end(r, "record_far.end", s);
    begin(s);
    r.k("record_external", cuEventRecordWithFlags(there, s, CU_EVENT_RECORD_EXTERNAL));
    r.k("wait_external", cuStreamWaitEvent(s, there, CU_EVENT_WAIT_EXTERNAL));
    rec_end(r, "external.end", s);
    OK(cuEventDestroy(there));
  });
  add("two.capture_fork_with_near_event", SECOND_DEVICE, [](Rec& r) {
    // The join is recorded with an event of the wrong device.
    const SecondDevice device1;
    Stream s(NB);
    Event f;
    begin(s);
    OK(cuEventRecord(f, s));
    r.k("fork", cuStreamWaitEvent(device1.s, f, 0));
    r.k("far_host", cuLaunchHostFunc(device1.s, label_fn, new_label("b")));
    r.k("join_record", cuEventRecord(f, device1.s));
    r.k("status", capture_status(s));
    r.k("join_wait", cuStreamWaitEvent(s, f, 0));
    rec_end(r, "end", s);
  });
}

}  // namespace weir::conformance
