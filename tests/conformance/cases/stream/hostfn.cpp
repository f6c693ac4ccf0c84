// SPDX-License-Identifier: Apache-2.0
// cases/stream/hostfn.cpp - host functions.
#include "probe/probe.hpp"

#include <atomic>
#include <thread>

namespace weir::conformance {

void hostfn_cases() {
  add("hostfn.order", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    for (int i = 0; i < 6; i++) hf(s, t, std::to_string(i));
    OK(cuStreamSynchronize(s));
    r.k("order", t.str());
  });
  add("hostfn.exactly_once", [](Rec& r) {
    Stream s(NB);
    auto& n = *leak<std::atomic<int>>(0);
    for (int i = 0; i < 200; i++) OK(hf_do(s, [&n] { n++; }));
    OK(cuStreamSynchronize(s));
    r.k("count", n.load());
    sleep_ms(20);
    r.k("count_later", n.load());
  });
  add("hostfn.blocks_later_work", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    HostGate h;
    h.arm(s);
    mark(s, c);
    r.k("entered", h.entered());
    r.k("early", early(c));
    h.open();
    r.k("done", late(c));
  });
  add("hostfn.waits_for_earlier_work", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    ValueGate v;
    v.arm(s);
    hf(s, t, "x");
    r.k("early", t.wait_size(1, kMustNotHappenMs));
    v.open();
    r.k("ran", t.wait_size(1, kMustHappenMs));
    OK(cuStreamSynchronize(s));
  });
  add("hostfn.does_not_block_host", [](Rec& r) {
    Stream s(NB);
    HostGate h;
    record_blocking(r, "launch", blocking([&] { h.open(); }, [&] { return h.try_arm(s); }));
    Trace& t = new_trace();
    record_blocking(r, "second", blocking([&] { h.open(); }, [&] { return try_hf(s, t, "x"); }));
    h.open();
    OK(cuStreamSynchronize(s));
  });
  add("hostfn.starts_without_sync", [](Rec& r) {
    Stream s(NB);
    Trace& t = new_trace();
    hf(s, t, "x");
    r.k("ran_without_any_call", t.wait_size(1, kMustHappenMs));
  });
  add("hostfn.sees_device_writes", [](Rec& r) {
    Stream s(NB);
    auto* h = reinterpret_cast<volatile uint32_t*>(g.pin);
    h[0] = 0;
    auto& seen = *leak<std::atomic<uint32_t>>(0u);
    OK(cuMemsetD32Async(g.dbuf, 41, 1, s));
    OK(cuMemcpyDtoHAsync(g.pin, g.dbuf, 4, s));
    OK(hf_do(s, [&seen, h] {
      seen = h[0];
      h[0] = h[0] + 1;
    }));
    OK(cuMemcpyHtoDAsync(g.dbuf, g.pin, 4, s));
    OK(cuMemcpyDtoHAsync(g.pin + 64, g.dbuf, 4, s));
    OK(cuStreamSynchronize(s));
    r.k("seen", seen.load());
    r.k("written_back", *reinterpret_cast<uint32_t*>(g.pin + 64));
  });
  add("hostfn.thread", [](Rec& r) {
    Stream s(NB), t(NB);
    auto& id1 = *leak<std::thread::id>();
    auto& id2 = *leak<std::thread::id>();
    auto& id3 = *leak<std::thread::id>();
    OK(hf_do(s, [&id1] { id1 = std::this_thread::get_id(); }));
    OK(hf_do(s, [&id2] { id2 = std::this_thread::get_id(); }));
    OK(cuStreamSynchronize(s));
    OK(hf_do(t, [&id3] { id3 = std::this_thread::get_id(); }));
    OK(cuStreamSynchronize(t));
    r.k("own_thread", id1 != std::this_thread::get_id());
    r.k("~same_thread_in_stream", id1 == id2);
    r.k("~same_thread_across_streams", id1 == id3);
  });
  add("hostfn.streams_serialized", [](Rec& r) {
    Stream a(NB), b(NB);
    Trace& t = new_trace();
    HostGate h;
    h.arm(a);
    r.k("entered", h.entered());
    hf(b, t, "b");
    r.k("~other_stream_runs_meanwhile", t.wait_size(1, 400));
    h.open();
    r.k("ran", t.wait_size(1, kMustHappenMs));
    OK(cuCtxSynchronize());
  });
  add("hostfn.device_work_beside", [](Rec& r) {
    Stream a(NB), b(NB);
    Cell c = new_cell();
    HostGate h;
    h.arm(a);
    r.k("entered", h.entered());
    mark(b, c);
    r.k("other_stream_device_work_runs", late(c));
    h.open();
    OK(cuCtxSynchronize());
  });
  add("hostfn.special_streams", [](Rec& r) {
    Trace& t = new_trace();
    r.k("null", try_hf(nullptr, t, "n"));
    r.k("legacy", try_hf(LEGACY, t, "l"));
    OK(cuCtxSynchronize());
    r.k("per_thread", try_hf(PER_THREAD, t, "p"));
    OK(cuCtxSynchronize());
    r.k("order", t.str());
    r.k("null_fn", cuLaunchHostFunc(nullptr, nullptr, new_label("x")));
    Stream s(NB);
    r.k("null_fn_stream", cuLaunchHostFunc(s, nullptr, nullptr));
    r.k("sync", cuStreamSynchronize(s));
  });
  add("hostfn.null_user_data", [](Rec& r) {
    Stream s(NB);
    static std::atomic<int> got;
    got = 0;
    r.k("launch", cuLaunchHostFunc(
                      s, [](void* p) { got = p == nullptr ? 1 : 2; }, nullptr));
    OK(cuStreamSynchronize(s));
    r.k("passed_null", got.load() == 1);
  });
  add("hostfn.stream_query_inside_window", [](Rec& r) {
    // The stream is not complete until its host function has returned.
    Stream s(NB);
    Event e;
    HostGate h;
    OK(cuEventRecord(e, s));
    h.arm(s);
    r.k("entered", h.entered());
    r.k("event_before", cuEventQuery(e));
    r.k("stream", cuStreamQuery(s));
    Event f;
    OK(cuEventRecord(f, s));
    r.k("event_after", cuEventQuery(f));
    h.open();
    OK(cuStreamSynchronize(s));
    r.k("event_after_done", cuEventQuery(f));
  });
  add("hostfn.order_with_callback", [](Rec& r) {
    Stream s(NB);
    static Trace* tt;
    tt = &new_trace();
    hf(s, *tt, "h1");
    OK(cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) { tt->add("c1"); }, nullptr, 0));
    hf(s, *tt, "h2");
    OK(cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) { tt->add("c2"); }, nullptr, 0));
    OK(cuStreamSynchronize(s));
    r.k("order", tt->str());
  });
}

}  // namespace weir::conformance
