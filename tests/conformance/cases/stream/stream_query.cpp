// SPDX-License-Identifier: Apache-2.0
// cases/stream/stream_query.cpp - query, synchronize and destroy.
#include "probe/probe.hpp"

namespace weir::conformance {

void stream_query_cases() {
  add("stream.query", [](Rec& r) {
    Stream s(NB);
    r.k("fresh", cuStreamQuery(s));
    {
      ValueGate v;
      v.arm(s);
      r.k("waiting_on_value", cuStreamQuery(s));
      v.open();
      r.k("sync", cuStreamSynchronize(s));
      r.k("after", cuStreamQuery(s));
    }
    {
      HostGate h;
      h.arm(s);
      r.k("entered", h.entered());
      r.k("in_host_func", cuStreamQuery(s));
      h.open();
      r.k("sync2", cuStreamSynchronize(s));
      r.k("after2", cuStreamQuery(s));
    }
    r.k("null_idle", cuStreamQuery(nullptr));
    r.k("legacy_idle", cuStreamQuery(LEGACY));
    r.k("per_thread_idle", cuStreamQuery(PER_THREAD));
  });
  add("stream.query_special_while_busy", [](Rec& r) {
    Stream b(BL), n(NB);
    {
      ValueGate v;
      v.arm(b);
      r.k("legacy_blocking_busy", cuStreamQuery(LEGACY));
      r.k("null_blocking_busy", cuStreamQuery(nullptr));
      r.k("per_thread_blocking_busy", cuStreamQuery(PER_THREAD));
      r.k("nonblocking_blocking_busy", cuStreamQuery(n));
      v.open();
      OK(cuStreamSynchronize(b));
    }
    {
      ValueGate v;
      v.arm(n);
      r.k("legacy_nonblocking_busy", cuStreamQuery(LEGACY));
      r.k("per_thread_nonblocking_busy", cuStreamQuery(PER_THREAD));
      v.open();
      OK(cuStreamSynchronize(n));
    }
    {
      ValueGate v;
      v.arm(PER_THREAD);
      r.k("per_thread_busy", cuStreamQuery(PER_THREAD));
      r.k("legacy_per_thread_busy", cuStreamQuery(LEGACY));
      r.k("blocking_per_thread_busy", cuStreamQuery(b));
      v.open();
      OK(cuStreamSynchronize(PER_THREAD));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      r.k("legacy_busy", cuStreamQuery(LEGACY));
      r.k("null_legacy_busy", cuStreamQuery(nullptr));
      r.k("blocking_legacy_busy", cuStreamQuery(b));
      r.k("nonblocking_legacy_busy", cuStreamQuery(n));
      r.k("per_thread_legacy_busy", cuStreamQuery(PER_THREAD));
      v.open();
      OK(cuStreamSynchronize(LEGACY));
    }
  });
  add("stream.sync_blocks", [](Rec& r) {
    Stream s(NB);
    {
      ValueGate v;
      v.arm(s);
      record_blocking(r, "value",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(s); }));
    }
    {
      HostGate h;
      h.arm(s);
      record_blocking(r, "host_func",
                      blocking([&] { h.open(); }, [&] { return cuStreamSynchronize(s); }));
    }
    record_blocking(r, "idle", blocking([] {}, [&] { return cuStreamSynchronize(s); }));
  });
  add("stream.sync_other_streams_busy", [](Rec& r) {
    Stream b(BL), n(NB), m(NB);
    {
      ValueGate v;
      v.arm(b);
      record_blocking(r, "nonblocking_while_blocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(n); }));
    }
    {
      ValueGate v;
      v.arm(m);
      record_blocking(r, "nonblocking_while_nonblocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(n); }));
    }
    {
      ValueGate v;
      v.arm(b);
      record_blocking(r, "legacy_while_blocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(LEGACY); }));
    }
    {
      ValueGate v;
      v.arm(n);
      record_blocking(r, "legacy_while_nonblocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(LEGACY); }));
    }
    {
      ValueGate v;
      v.arm(PER_THREAD);
      record_blocking(r, "legacy_while_per_thread_busy",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(LEGACY); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(r, "blocking_while_legacy_busy",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(b); }));
    }
    {
      ValueGate v;
      v.arm(LEGACY);
      record_blocking(r, "per_thread_while_legacy_busy",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(PER_THREAD); }));
    }
    {
      ValueGate v;
      v.arm(b);
      record_blocking(r, "per_thread_while_blocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuStreamSynchronize(PER_THREAD); }));
    }
  });
  add("stream.destroy_busy_value", [](Rec& r) {
    Cell c = new_cell();
    ValueGate v;
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    OK(v.try_arm(s));
    OK(cuMemsetD32Async(c.d, 1, 1, s));
    record_blocking(r, "destroy", blocking([&] { v.open(); }, [&] { return cuStreamDestroy(s); }));
    r.k("early", early(c));
    v.open();
    r.k("completed", late(c));
  });
  add("stream.destroy_busy_host_func", [](Rec& r) {
    Trace& t = new_trace();
    HostGate h;
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    OK(h.try_arm(s));
    hf(s, t, "after");
    r.k("entered", h.entered());
    record_blocking(r, "destroy", blocking([&] { h.open(); }, [&] { return cuStreamDestroy(s); }));
    h.open();
    r.k("later_host_func_ran", t.wait_size(1, kMustHappenMs));
  });
  add("stream.destroy_with_event_pending", [](Rec& r) {
    Event e;
    Stream w(NB);
    Cell c = new_cell();
    ValueGate v;
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    OK(v.try_arm(s));
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(w, e, 0));
    mark(w, c);
    r.k("destroy", cuStreamDestroy(s));
    r.k("query", cuEventQuery(e));
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
    r.k("query_after", cuEventQuery(e));
  });
  add("stream.destroy_special_null", ISO, [](Rec& r) { r.k("res", cuStreamDestroy(nullptr)); });
  add("stream.destroy_special_legacy", ISO, [](Rec& r) { r.k("res", cuStreamDestroy(LEGACY)); });
  add("stream.destroy_special_per_thread", ISO, [](Rec& r) {
    r.k("res", cuStreamDestroy(PER_THREAD));
    Trace& t = new_trace();
    r.k("use_after", try_hf(PER_THREAD, t, "x"));
  });
  add("stream.many", [](Rec& r) {
    std::vector<CUstream> v(200, nullptr);
    int ok = 0, ran = 0;
    std::vector<Cell> c;
    for (auto& s : v)
      if (cuStreamCreate(&s, NB) == CUDA_SUCCESS) ok++;
    for (auto& s : v) {
      c.push_back(new_cell());
      if (s) mark(s, c.back());
    }
    for (size_t i = 0; i < v.size(); i++) {
      cuStreamSynchronize(v[i]);
      ran += static_cast<int>(c[i].get());
      cuStreamDestroy(v[i]);
    }
    r.k("created", ok);
    r.k("ran", ran);
  });
}

}  // namespace weir::conformance
