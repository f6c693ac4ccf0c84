// SPDX-License-Identifier: Apache-2.0
// cases/stream/callback.cpp - stream callbacks.
#include "probe/probe.hpp"

#include <atomic>
#include <utility>

namespace weir::conformance {

void callback_cases() {
  add("callback.status_and_stream", [](Rec& r) {
    Stream s(NB);
    struct Got {
      std::atomic<int> calls{0};
      CUstream stream = nullptr;
      CUresult status = CUDA_ERROR_UNKNOWN;
      void* data = nullptr;
    };
    auto& got = *leak<Got>();
    r.k("add", cuStreamAddCallback(
                   s,
                   [](CUstream st, CUresult e, void* p) {
                     auto* q = static_cast<Got*>(p);
                     q->stream = st;
                     q->status = e;
                     q->data = p;
                     q->calls++;
                   },
                   &got, 0));
    OK(cuStreamSynchronize(s));
    r.k("calls", got.calls.load());
    r.k("status", got.status);
    r.k("stream_same", got.stream == s.s);
    r.k("data_same", got.data == &got);
  });
  add("callback.special_streams", [](Rec& r) {
    static std::atomic<uintptr_t> got;
    const std::pair<const char*, CUstream> hs[] = {
        {"null", nullptr}, {"legacy", LEGACY}, {"per_thread", PER_THREAD}};
    for (auto& [k, s] : hs) {
      got = 99;
      r.k(k, cuStreamAddCallback(
                 s, [](CUstream st, CUresult, void*) { got = reinterpret_cast<uintptr_t>(st); },
                 nullptr, 0));
      OK(cuCtxSynchronize());
      uintptr_t v = got;
      r.k(std::string(k) + ".handle", v < 3 ? std::to_string(v) : std::string("other"));
    }
  });
  add("callback.arguments", [](Rec& r) {
    Stream s(NB);
    static std::atomic<int> n;
    n = 0;
    auto cb = [](CUstream, CUresult, void*) { n++; };
    r.k("flags1", cuStreamAddCallback(s, cb, nullptr, 1));
    r.k("flags_all", cuStreamAddCallback(s, cb, nullptr, 0xffffffffu));
    r.k("null_fn", cuStreamAddCallback(s, nullptr, nullptr, 0));
    r.k("sync", cuStreamSynchronize(s));
    r.k("calls", n.load());
  });
  add("callback.blocks_later_work", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    static Trace* in;
    static Trace* go;
    in = &new_trace();
    go = &new_trace();
    OK(cuStreamAddCallback(
        s,
        [](CUstream, CUresult, void*) {
          in->add("in");
          go->wait_size(1, 5000);
        },
        nullptr, 0));
    mark(s, c);
    r.k("entered", in->wait_size(1, kMustHappenMs));
    r.k("early", early(c));
    r.k("query", cuStreamQuery(s));
    go->add("go");
    r.k("done", late(c));
  });
  add("callback.waits_for_earlier_work", [](Rec& r) {
    Stream s(NB);
    static Trace* t;
    t = &new_trace();
    ValueGate v;
    v.arm(s);
    OK(cuStreamAddCallback(
        s, [](CUstream, CUresult, void*) { t->add("x"); }, nullptr, 0));
    r.k("early", t->wait_size(1, kMustNotHappenMs));
    v.open();
    r.k("ran", t->wait_size(1, kMustHappenMs));
    OK(cuStreamSynchronize(s));
  });
  add("callback.exactly_once", [](Rec& r) {
    Stream s(NB);
    static std::atomic<int> n;
    n = 0;
    for (int i = 0; i < 50; i++)
      OK(cuStreamAddCallback(
          s, [](CUstream, CUresult, void*) { n++; }, nullptr, 0));
    OK(cuStreamSynchronize(s));
    r.k("count", n.load());
  });
  add("callback.device_work_beside", [](Rec& r) {
    Stream a(NB), b(NB);
    Cell c = new_cell();
    static Trace* in;
    static Trace* go;
    in = &new_trace();
    go = &new_trace();
    OK(cuStreamAddCallback(
        a,
        [](CUstream, CUresult, void*) {
          in->add("in");
          go->wait_size(1, 5000);
        },
        nullptr, 0));
    r.k("entered", in->wait_size(1, kMustHappenMs));
    mark(b, c);
    r.k("other_stream_device_work_runs", late(c));
    go->add("go");
    OK(cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
