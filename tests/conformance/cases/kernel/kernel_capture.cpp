// SPDX-License-Identifier: Apache-2.0
// cases/kernel/kernel_capture.cpp - kernels in captures and inside host functions.
#include "cases/kernel/kernels.hpp"
#include "cases/stream/inside.hpp"
#include "probe/probe.hpp"

namespace weir::conformance {

void kernel_capture_cases() {
  add("kernel.capture", [](Rec& r) {
    Stream s(NB);
    Cell c = new_cell();
    kern();
    begin(s);
    r.k("launch1", k_addone(s, c));
    r.k("launch2", k_addone(s, c));
    Graph gr(end_ok(s));
    r.k("graph", describe(gr));
    r.k("ran_during_capture", c.get());
    Exec x(gr);
    OK(cuGraphLaunch(x, s));
    OK(cuGraphLaunch(x, s));
    OK(cuStreamSynchronize(s));
    r.k("count", c.get());
  });
  for (CUstreamCaptureMode m : {GLOBAL, LOCAL, RELAXED}) {
    add("kernel.module_load_in_capture." + lower(name_of(m)), ISO, [m](Rec& r) {
      kern();
      Stream s(NB);
      begin(s, m);
      lab(s, "a");
      CUmodule mod = nullptr;
      CUfunction f = nullptr;
      CUresult e = r.k("load", cuModuleLoadData(&mod, kernels_module()));
      r.k("status", capture_status(s));
      if (e == CUDA_SUCCESS) {
        r.k("get_function", cuModuleGetFunction(&f, mod, "empty"));
        r.k("first_launch", k_plain(f, s));
        r.k("status2", capture_status(s));
        r.k("unload", cuModuleUnload(mod));
        r.k("status3", capture_status(s));
      }
      rec_end(r, "end", s);
    });
  }
  add("kernel.launch_other_in_capture", [](Rec& r) {
    kern();
    for (CUstreamCaptureMode m : {GLOBAL, LOCAL, RELAXED}) {
      Stream s(NB), o(NB);
      begin(s, m);
      lab(s, "a");
      r.k(lower(name_of(m)) + ".launch", k_plain(kern().empty, o));
      r.k(lower(name_of(m)) + ".status", capture_status(s));
      rec_end(r, lower(name_of(m)) + ".end", s);
      OK(cuStreamSynchronize(o));
    }
  });
  add("kernel.inside.launch", [](Rec& r) {
    kern();
    run_inside(r, "hostfn", [](InsideEnv& e) { return k_plain(kern().empty, e.other); });
  });
  add("kernel.inside.launch_null_stream", [](Rec& r) {
    kern();
    run_inside(r, "hostfn", [](InsideEnv&) { return k_plain(kern().empty, nullptr); });
  });
  add("kernel.inside.module_load", [](Rec& r) {
    kern();
    run_inside(r, "hostfn", [](InsideEnv&) {
      CUmodule mod = nullptr;
      return cuModuleLoadData(&mod, kernels_module());
    });
  });
  add("kernel.inside.get_function", [](Rec& r) {
    kern();
    run_inside(r, "hostfn", [](InsideEnv&) {
      CUfunction f = nullptr;
      return cuModuleGetFunction(&f, kern().m, "empty");
    });
  });
}

}  // namespace weir::conformance
