// SPDX-License-Identifier: Apache-2.0
// cases/kernel/kernel_errors.cpp - sticky errors.
#include "cases/graph/user_objects.hpp"
#include "cases/kernel/kernels.hpp"
#include "probe/probe.hpp"

#include <atomic>

namespace weir::conformance {

void kernel_errors_cases() {
  add("kernel.function_of_other_context", ISO | SECOND_CONTEXT, [](Rec& r) {
    kern();
    OtherCtx o;
    Cell c = new_cell();
    Stream s(NB);
    {
      Current cur(o);
      CUdeviceptr d = c.d;
      unsigned v = 1;
      void* a[] = {&d, &v};
      r.k("null_stream", cuLaunchKernel(kern().store, 1, 1, 1, 1, 1, 1, 0, nullptr, a, nullptr));
      r.k("its_own_stream", cuLaunchKernel(kern().store, 1, 1, 1, 1, 1, 1, 0, s, a, nullptr));
    }
    r.k("sync", cuCtxSynchronize());
  });

  add("kernel.sticky_illegal_address", ISO | SLOW,
      [](Rec& r) { sticky_case(r, [](CUstream s) { return k_plain(kern().fault, s); }); });
  add("kernel.sticky_misaligned", ISO | SLOW, [](Rec& r) {
    sticky_case(r, [](CUstream s) {
      CUdeviceptr d = g.dbuf;
      void* a[] = {&d};
      return cuLaunchKernel(kern().misaligned, 1, 1, 1, 1, 1, 1, 0, s, a, nullptr);
    });
  });
  add("kernel.sticky_trap", ISO | SLOW,
      [](Rec& r) { sticky_case(r, [](CUstream s) { return k_plain(kern().trapped, s); }); });
  add("kernel.fault_event", ISO, [](Rec& r) {
    kern();
    CUstream s = nullptr;
    CUevent e = nullptr, t = nullptr;
    OK(cuStreamCreate(&s, NB));
    OK(cuEventCreate(&e, 0));
    OK(cuEventCreate(&t, 0));
    OK(cuEventRecord(t, s));
    ValueGate v;
    v.arm(s);
    OK(k_plain(kern().fault, s));
    r.k("record_behind", cuEventRecord(e, s));
    v.open();
    r.k("sync", cuEventSynchronize(e));
    r.k("query", cuEventQuery(e));
    float ms = 0;
    r.k("elapsed", cuEventElapsedTime(&ms, t, e));
    r.k("query_before", cuEventQuery(t));
  });
  add("kernel.fault_first_seen_by_query", ISO, [](Rec& r) {
    kern();
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    OK(k_plain(kern().fault, s));
    CUresult q = CUDA_SUCCESS;
    wait_for(
        [&] {
          q = cuStreamQuery(s);
          return q != CUDA_ERROR_NOT_READY;
        },
        3000);
    r.k("query", q);
    r.k("other_stream", cuStreamQuery(nullptr));
  });
  add("kernel.fault_host_function_and_callback", ISO, [](Rec& r) {
    kern();
    static Trace* t;
    t = &new_trace();
    static std::atomic<int> status;
    status = -1;
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    ValueGate v;
    v.arm(s);
    OK(k_plain(kern().fault, s));
    r.k("host_func", cuLaunchHostFunc(
                         s, [](void*) { t->add("host"); }, nullptr));
    r.k("callback", cuStreamAddCallback(
                        s,
                        [](CUstream, CUresult e, void*) {
                          status = static_cast<int>(e);
                          t->add("callback");
                        },
                        nullptr, 0));
    v.open();
    r.k("sync", cuStreamSynchronize(s));
    t->wait_size(1, 1500);
    sleep_ms(200);
    r.k("called", t->str());
    r.k("status", status.load() < 0 ? std::string("none")
                                    : result_name(static_cast<CUresult>(status.load())));
    r.k("host_func_after", cuLaunchHostFunc(
                               s, [](void*) { t->add("late"); }, nullptr));
    r.k("callback_after", cuStreamAddCallback(
                              s, [](CUstream, CUresult, void*) { t->add("late_cb"); }, nullptr, 0));
    sleep_ms(200);
    r.k("called_in_all", t->str());
  });
  add("kernel.fault_in_graph", ISO, [](Rec& r) {
    kern();
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    static Trace* t;
    t = &new_trace();
    begin(s);
    OK(k_plain(kern().fault, s));
    OK(cuLaunchHostFunc(
        s, [](void*) { t->add("host"); }, nullptr));
    CUgraph gr = end_ok(s);
    CUgraphExec x = nullptr;
    OK(cuGraphInstantiate(&x, gr, 0));
    r.k("launch", cuGraphLaunch(x, s));
    r.k("sync", cuStreamSynchronize(s));
    sleep_ms(200);
    r.k("host_node", t->str());
    r.k("launch_again", cuGraphLaunch(x, s));
    r.k("exec_destroy", cuGraphExecDestroy(x));
    r.k("graph_destroy", cuGraphDestroy(gr));
  });
  add("kernel.fault_other_context", ISO | SLOW, [](Rec& r) {
    kern();
    CUcontext o = nullptr;
    OK(cuCtxCreate(&o, nullptr, 0, g.dev));
    CUmodule m = nullptr;
    CUfunction f = nullptr;
    OK(cuModuleLoadData(&m, kernels_module()));
    OK(cuModuleGetFunction(&f, m, "fault"));
    OK(k_plain(f, nullptr));
    r.k("its_sync", cuCtxSynchronize());
    CUcontext popped = nullptr;
    r.k("pop", cuCtxPopCurrent(&popped));
    CUdeviceptr p = 0;
    r.k("primary_sync", cuCtxSynchronize());
    r.k("primary_alloc", cuMemAlloc(&p, 64));
    r.k("primary_launch", k_plain(kern().empty, nullptr));
    r.k("primary_sync2", cuCtxSynchronize());
    r.k("destroy_faulted", cuCtxDestroy(o));
    CUcontext n = nullptr;
    r.k("new_context", cuCtxCreate(&n, nullptr, 0, g.dev));
    if (n) r.k("new_alloc", cuMemAlloc(&p, 64));
  });
  add("kernel.fault_user_object", ISO, [](Rec& r) {
    kern();
    auto& d = *leak<Destroyed>();
    CUuserObject u = make_object(d);
    CUgraph gr = nullptr;
    OK(cuGraphCreate(&gr, 0));
    add_empty(gr);
    OK(cuGraphRetainUserObject(gr, u, 1, CU_GRAPH_USER_OBJECT_MOVE));
    OK(k_plain(kern().fault, nullptr));
    r.k("sync", cuCtxSynchronize());
    r.k("destroy_graph", cuGraphDestroy(gr));
    r.k("destructor_ran", gone(d));
  });
  add("kernel.fault_not_seen_at_launch", ISO, [](Rec& r) {
    kern();
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    ValueGate v;
    v.arm(s);
    r.k("launch_fault", k_plain(kern().fault, s));
    CUdeviceptr p = 0;
    r.k("alloc_before_it_runs", cuMemAlloc(&p, 64));
    r.k("launch_behind", k_plain(kern().empty, s));
    v.open();
    r.k("sync", cuStreamSynchronize(s));
    r.k("alloc_after", cuMemAlloc(&p, 64));
  });
}

}  // namespace weir::conformance
