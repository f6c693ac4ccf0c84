// SPDX-License-Identifier: Apache-2.0
// cases/kernel/kernel_launch.cpp - launching, modules, order.
#include "cases/kernel/kernels.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {

void kernel_launch_cases() {
  add("kernel.launch", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    r.k("launch", k_store(s, c, 5));
    r.k("sync", cuStreamSynchronize(s));
    r.k("value", c.get());
  });
  add("kernel.launch_errors", [](Rec& r) {
    Kernels& k = kern();
    r.k("null_func", cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    r.k("grid0", cuLaunchKernel(k.empty, 0, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    r.k("block0", cuLaunchKernel(k.empty, 1, 1, 1, 0, 1, 1, 0, nullptr, nullptr, nullptr));
    r.k("block2048", cuLaunchKernel(k.empty, 1, 1, 1, 2048, 1, 1, 0, nullptr, nullptr, nullptr));
    r.k("blockz128", cuLaunchKernel(k.empty, 1, 1, 1, 1, 1, 128, 0, nullptr, nullptr, nullptr));
    r.k("gridy_big", cuLaunchKernel(k.empty, 1, 70000, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
    r.k("shared_1m", cuLaunchKernel(k.empty, 1, 1, 1, 1, 1, 1, 1 << 20, nullptr, nullptr, nullptr));
    CUdeviceptr d = new_cell().d;
    void* a[] = {&d};
    size_t sz = 8;
    void* ex[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &d, CU_LAUNCH_PARAM_BUFFER_SIZE, &sz,
                  CU_LAUNCH_PARAM_END};
    r.k("params_and_extra", cuLaunchKernel(k.addone, 1, 1, 1, 1, 1, 1, 0, nullptr, a, ex));
    r.k("extra", cuLaunchKernel(k.addone, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, ex));
    r.k("sync", cuCtxSynchronize());
    r.k("after_errors", k_plain(k.empty, nullptr));
    r.k("sync2", cuCtxSynchronize());
  });
  add("kernel.module", [](Rec& r) {
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    r.k("not_ptx", cuModuleLoadData(&m, "this is not a module"));
    r.k("bad_ptx",
        cuModuleLoadData(
            &m, ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry x() { bogus; }\n"));
    r.k("empty_text", cuModuleLoadData(&m, ""));
    r.k("load", cuModuleLoadData(&m, kernels_module()));
    r.k("function", cuModuleGetFunction(&f, m, "store"));
    r.k("no_function", cuModuleGetFunction(&f, m, "nothing"));
    CUdeviceptr d = 0;
    size_t n = 0;
    r.k("global", cuModuleGetGlobal(&d, &n, m, "word"));
    r.k("global_size", n);
    uint32_t v = 0;
    r.k("read_global", cuMemcpyDtoH(&v, d, 4));
    r.k("global_value", v);
    r.k("no_global", cuModuleGetGlobal(&d, &n, m, "nothing"));
    r.k("unload", cuModuleUnload(m));
    r.k("unload_null", cuModuleUnload(nullptr));
  });
  add("kernel.module_while_busy", [](Rec& r) {
    Stream s(NB);
    KGate k;
    k.arm(s);
    CUmodule m = nullptr;
    record_blocking(
        r, "~load",
        blocking([&] { k.open(); }, [&] { return cuModuleLoadData(&m, kernels_module()); }));
    KGate k2;
    k2.arm(s);
    record_blocking(r, "~unload", blocking([&] { k2.open(); }, [&] { return cuModuleUnload(m); }));
    k.open();
    k2.open();
    OK(cuStreamSynchronize(s));
  });
  add("kernel.busy", [](Rec& r) {
    Stream s(NB);
    Event e;
    {
      KGate k;
      k.arm(s);
      OK(cuEventRecord(e, s));
      r.k("stream", cuStreamQuery(s));
      r.k("event", cuEventQuery(e));
      record_blocking(r, "sync",
                      blocking([&] { k.open(); }, [&] { return cuStreamSynchronize(s); }));
    }
    r.k("event_after", cuEventQuery(e));
    KGate k;
    k.arm(s);
    record_blocking(r, "event_sync", [&] {
      OK(cuEventRecord(e, s));
      return blocking([&] { k.open(); }, [&] { return cuEventSynchronize(e); });
    }());
  });
  add("kernel.fifo", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    for (int i = 0; i < 50; i++) OK(k_addone(s, c));
    OK(cuStreamSynchronize(s));
    r.k("count", c.get());
  });
  add("kernel.mixed_fifo", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    Trace& t = new_trace();
    for (uint32_t i = 0; i < 4; i++) {
      OK(k_addone(s, c));
      OK(hf_do(s, [&t, c] { t.add(std::to_string(c.get())); }));
    }
    OK(cuStreamSynchronize(s));
    r.k("seen", t.str());
  });
  add("kernel.concurrent", [](Rec& r) {
    Stream s(NB), u(NB), b(BL);
    Cell c = new_cell(), d = new_cell();
    KGate k;
    k.arm(s);
    OK(k_store(u, c, 1));
    OK(k_store(b, d, 1));
    r.k("nonblocking_runs", late(c));
    r.k("blocking_runs", late(d));
    k.open();
    OK(cuCtxSynchronize());
  });
  add("kernel.legacy_waits", [](Rec& r) {
    Stream b(BL), n(NB);
    {
      Cell c = new_cell();
      KGate k;
      k.arm(b);
      OK(k_store(nullptr, c, 1));
      r.k("legacy_waits_for_blocking", !early(c));
      k.open();
      r.k("done", late(c));
      OK(cuCtxSynchronize());
    }
    {
      Cell c = new_cell();
      KGate k;
      k.arm(n);
      OK(k_store(nullptr, c, 1));
      r.k("legacy_waits_for_nonblocking", !late(c));
      k.open();
      OK(cuCtxSynchronize());
    }
    {
      Cell c = new_cell(), d = new_cell(), e = new_cell();
      KGate k;
      k.arm(nullptr);
      OK(k_store(b, c, 1));
      OK(k_store(n, d, 1));
      OK(k_store(PER_THREAD, e, 1));
      r.k("blocking_waits_for_legacy", !early(c));
      r.k("nonblocking_waits_for_legacy", !late(d));
      r.k("per_thread_waits_for_legacy", !early(e));
      k.open();
      OK(cuCtxSynchronize());
    }
  });
  add("kernel.event_order", [](Rec& r) {
    Stream s(NB), u(NB);
    Event e;
    Cell c = new_cell();
    KGate k;
    k.arm(s);
    OK(cuEventRecord(e, s));
    OK(cuStreamWaitEvent(u, e, 0));
    OK(k_store(u, c, 1));
    r.k("early", early(c));
    k.open();
    r.k("done", late(c));
  });
  add("kernel.elapsed", [](Rec& r) {
    Stream s(NB);
    Event a(0), b(0);
    KGate k;
    OK(cuEventRecord(a, s));
    k.arm(s);
    OK(cuEventRecord(b, s));
    sleep_ms(30);
    k.open();
    OK(cuEventSynchronize(b));
    float ms = 0;
    r.k("elapsed", cuEventElapsedTime(&ms, a, b));
    r.k("at_least_20ms", ms > 20);
  });
  add("kernel.implicit_sync", [](Rec& r) {
    Stream s(NB);
    CUdeviceptr p = 0, q = 0;
    OK(cuMemAlloc(&p, 4096));
    {
      KGate k;
      k.arm(s);
      record_blocking(r, "~mem_free", blocking([&] { k.open(); }, [&] { return cuMemFree(p); }));
      k.open();
      OK(cuStreamSynchronize(s));
    }
    {
      KGate k;
      k.arm(s);
      record_blocking(r, "~mem_alloc",
                      blocking([&] { k.open(); }, [&] { return cuMemAlloc(&q, 4096); }));
      k.open();
      OK(cuStreamSynchronize(s));
    }
    cuMemFree(q);
    Stream b(BL);
    {
      KGate k;
      k.arm(b);
      record_blocking(r, "memcpy_sync_blocking",
                      blocking([&] { k.open(); }, [&] { return cuMemcpyHtoD(g.dbuf, g.pin, 64); }));
      k.open();
      OK(cuCtxSynchronize());
    }
    {
      KGate k;
      k.arm(s);
      record_blocking(r, "memcpy_sync_nonblocking",
                      blocking([&] { k.open(); }, [&] { return cuMemcpyHtoD(g.dbuf, g.pin, 64); }));
      k.open();
      OK(cuCtxSynchronize());
    }
    {
      KGate k;
      k.arm(s);
      record_blocking(
          r, "~pageable_dtoh_async",
          blocking([&] { k.open(); }, [&] { return cuMemcpyDtoHAsync(g.page, g.dbuf, 64, s); }));
      k.open();
      OK(cuCtxSynchronize());
    }
  });
}

}  // namespace weir::conformance
