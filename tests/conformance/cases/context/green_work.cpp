// SPDX-License-Identifier: Apache-2.0
// cases/context/green_work.cpp - work in streams of green contexts: destruction during the work,
// and calls by the work itself.
#include "cases/context/greens.hpp"
#include "cases/stream/inside.hpp"

namespace weir::conformance {

void green_work_cases() {
  add("green.destroy_with_streams", ISO | SLOW, [](Rec& r) {
    Green c;
    CUstream s = nullptr, made_current = nullptr;
    CUevent e = nullptr;
    OK(cuGreenCtxStreamCreate(&s, c, NB, 0));
    {
      Current cur(c.context());
      OK(cuStreamCreate(&made_current, NB));
      OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    }
    OK(cuEventRecord(e, s));
    OK(cuStreamSynchronize(s));
    r.k("destroy", c.destroy());
    r.k("event_query", cuEventQuery(e));
    r.k("query", cuStreamQuery(s));
    r.k("sync", cuStreamSynchronize(s));
    const Cell cell = new_cell();
    r.k("memset", cuMemsetD32Async(cell.d, 1, 1, s));
    unsigned f = 0;
    r.k("flags", cuStreamGetFlags(s, &f));
    CUgreenCtx of = nullptr;
    r.k("get_green", cuStreamGetGreenCtx(s, &of));
    r.k("destroy_stream", cuStreamDestroy(s));
    r.k("destroy_made_current", cuStreamDestroy(made_current));
    r.k("event_destroy", cuEventDestroy(e));
  });
  add("green.destroy_with_work", ISO | SLOW, [](Rec& r) {
    Green c;
    CUstream s = nullptr;
    OK(cuGreenCtxStreamCreate(&s, c, NB, 0));
    const Cell cell = new_cell();
    ValueGate gate;
    gate.arm(s);
    mark(s, cell);
    record_blocking(r, "destroy", blocking([&] { gate.open(); }, [&] { return c.destroy(); }));
    gate.open();
    r.k("ran", late(cell));
  });
  add("green.stream_destroyed_with_work", SLOW, [](Rec& r) {
    Green c;
    CUstream s = nullptr;
    OK(cuGreenCtxStreamCreate(&s, c, NB, 0));
    const Cell cell = new_cell();
    ValueGate gate;
    gate.arm(s);
    mark(s, cell);
    r.k("destroy", cuStreamDestroy(s));
    gate.open();
    r.k("ran", late(cell));
  });

  for (const char* kind : {"hostfn", "callback"}) {
    const auto inside = [kind](const char* name, InsideCall call) {
      add(std::string("green.inside.") + kind + "." + name, ISO | SLOW,
          [kind, call](Rec& r) { run_inside(r, kind, call); });
    };
    inside("device_resource", [](InsideEnv&) {
      CUdevResource part{};
      return cuDeviceGetDevResource(g.dev, &part, CU_DEV_RESOURCE_TYPE_SM);
    });
    inside("get_green", [](InsideEnv& env) {
      CUgreenCtx of = nullptr;
      return cuStreamGetGreenCtx(env.self, &of);
    });
    inside("split", [](InsideEnv&) {
      CUdevResource none{}, part{};
      unsigned n = 1;
      return cuDevSmResourceSplitByCount(&part, &n, &none, nullptr, 0, 16);
    });
    inside("id", [](InsideEnv&) {
      unsigned long long id = 0;
      return cuGreenCtxGetId(nullptr, &id);
    });
  }
}

}  // namespace weir::conformance
