// SPDX-License-Identifier: Apache-2.0
// cases/stream/legacy_work.cpp - each kind of work in the legacy stream.
#include "probe/probe.hpp"

namespace weir::conformance {

void legacy_work_cases() {
  add("legacy.host_func", [](Rec& r) {
    Stream b(BL);
    Trace& t = new_trace();
    ValueGate v;
    v.arm(b);
    hf(nullptr, t, "x");
    r.k("waits_for_blocking", !t.wait_size(1, kMustNotHappenMs));
    v.open();
    r.k("ran", t.wait_size(1, kMustHappenMs));
    OK(cuCtxSynchronize());
    HostGate h;
    Cell c = new_cell();
    h.arm(nullptr);
    r.k("entered", h.entered());
    mark(b, c);
    r.k("blocking_waits_for_host_func", !early(c));
    h.open();
    r.k("done", late(c));
    OK(cuCtxSynchronize());
  });
  add("legacy.value_ops", [](Rec& r) {
    Stream b(BL);
    Cell c = new_cell();
    ValueGate v;
    v.arm(b);
    OK(cuStreamWriteValue32(nullptr, c.d, 1, 0));
    r.k("write_value_waits_for_blocking", !early(c));
    v.open();
    r.k("done", late(c));
    OK(cuCtxSynchronize());
  });
  add("legacy.sync_memcpy", [](Rec& r) {
    Stream b(BL), n(NB);
    auto pin = g.pin;
    {
      ValueGate v;
      v.arm(b);
      record_blocking(r, "htod_pinned_blocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuMemcpyHtoD(g.dbuf, pin, 64); }));
    }
    {
      ValueGate v;
      v.arm(n);
      record_blocking(r, "htod_pinned_nonblocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuMemcpyHtoD(g.dbuf, pin, 64); }));
    }
    {
      ValueGate v;
      v.arm(b);
      record_blocking(r, "dtoh_pinned_blocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuMemcpyDtoH(pin, g.dbuf, 64); }));
    }
    {
      ValueGate v;
      v.arm(n);
      record_blocking(r, "dtoh_pinned_nonblocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuMemcpyDtoH(pin, g.dbuf, 64); }));
    }
    {
      ValueGate v;
      v.arm(b);
      record_blocking(
          r, "htod_pageable_blocking_busy",
          blocking([&] { v.open(); }, [&] { return cuMemcpyHtoD(g.dbuf, g.page, 64); }));
    }
    {
      ValueGate v;
      v.arm(b);
      record_blocking(
          r, "dtod_blocking_busy",
          blocking([&] { v.open(); }, [&] { return cuMemcpyDtoD(g.dbuf, g.dbuf + 4096, 64); }));
    }
    {
      ValueGate v;
      v.arm(b);
      record_blocking(r, "memset_blocking_busy",
                      blocking([&] { v.open(); }, [&] { return cuMemsetD8(g.dbuf, 1, 64); }));
    }
    {
      ValueGate v;
      v.arm(PER_THREAD);
      record_blocking(r, "htod_pinned_per_thread_busy",
                      blocking([&] { v.open(); }, [&] { return cuMemcpyHtoD(g.dbuf, pin, 64); }));
    }
  });
  add("legacy.graph_launch", [](Rec& r) {
    Stream b(BL), n(NB);
    Cell c = new_cell(), d = new_cell(), f = new_cell();
    Graph gr;
    add_memset(gr, {}, c.d, 1);
    Exec x(gr);
    {
      ValueGate v;
      v.arm(b);
      OK(cuGraphLaunch(x, nullptr));
      r.k("graph_in_legacy_waits_for_blocking", !early(c));
      v.open();
      r.k("done", late(c));
      OK(cuCtxSynchronize());
    }
    {
      ValueGate v;
      Graph gg;
      add_gate(gg, {}, v);
      Exec y(gg);
      OK(cuGraphLaunch(y, nullptr));
      mark(b, d);
      mark(n, f);
      r.k("blocking_waits_for_graph_in_legacy", !early(d));
      r.k("nonblocking_runs", late(f));
      v.open();
      r.k("done2", late(d));
      OK(cuCtxSynchronize());
    }
  });
  add("legacy.graph_in_blocking_stream", [](Rec& r) {
    Stream b(BL);
    Cell c = new_cell();
    ValueGate v;
    Graph gg;
    add_gate(gg, {}, v);
    Exec y(gg);
    OK(cuGraphLaunch(y, b));
    mark(nullptr, c);
    r.k("legacy_waits_for_graph", !early(c));
    v.open();
    r.k("done", late(c));
    OK(cuCtxSynchronize());
  });
  add("legacy.malloc_async_in_legacy", [](Rec& r) {
    Stream b(BL);
    ValueGate v;
    v.arm(b);
    CUdeviceptr p = 0;
    record_blocking(r, "~malloc_async",
                    blocking([&] { v.open(); }, [&] { return cuMemAllocAsync(&p, 256, nullptr); }));
    v.open();
    if (p) r.k("free_async", cuMemFreeAsync(p, nullptr));
    OK(cuCtxSynchronize());
  });
  add("legacy.chain_across_both", [](Rec& r) {
    Stream a(BL), b(BL);
    Trace& t = new_trace();
    ValueGate v;
    v.arm(a);
    hf(a, t, "a1");
    hf(nullptr, t, "l1");
    hf(b, t, "b1");
    hf(nullptr, t, "l2");
    hf(a, t, "a2");
    v.open();
    OK(cuCtxSynchronize());
    r.k("order", t.str());
  });
}

}  // namespace weir::conformance
