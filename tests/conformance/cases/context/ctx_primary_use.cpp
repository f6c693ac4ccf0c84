// SPDX-License-Identifier: Apache-2.0
// cases/context/ctx_primary_use.cpp - the primary context's flags while it is active, and its
// destruction while it is in use.
#include "probe/probe.hpp"

namespace weir::conformance {

void ctx_primary_use_cases() {
  add("ctx.primary_flags_values", RAW | SLOW, [](Rec& r) {
    init_device();
    unsigned f = 0;
    int active = 0;
    const auto all = [&](const std::string& prefix) {
      for (unsigned flags : {0u, 1u, 2u, 4u, 6u, 8u, 0x10u, 0x20u, 0x40u, 0x80u, 0x84u, 0x100u}) {
        r.k(prefix + std::to_string(flags), cuDevicePrimaryCtxSetFlags(g.dev, flags));
        OK(cuDevicePrimaryCtxGetState(g.dev, &f, &active));
        r.k(prefix + std::to_string(flags) + ".state", f);
      }
    };
    all("inactive");
    CUcontext c = nullptr;
    OK(cuDevicePrimaryCtxSetFlags(g.dev, 0));
    OK(cuDevicePrimaryCtxRetain(&c, g.dev));
    OK(cuCtxSetCurrent(c));
    all("active");
    unsigned own = 99;
    OK(cuCtxGetFlags(&own));
    r.k("ctx_flags", own);
  });

  add("ctx.primary_nulls", [](Rec& r) {
    unsigned f = 0;
    int active = 0;
    r.k("retain_null", cuDevicePrimaryCtxRetain(nullptr, g.dev));
    r.k("retain_null_bad_dev", cuDevicePrimaryCtxRetain(nullptr, 99));
    r.k("state_no_flags", cuDevicePrimaryCtxGetState(g.dev, nullptr, &active));
    r.k("state_no_active", cuDevicePrimaryCtxGetState(g.dev, &f, nullptr));
    r.k("state_nothing", cuDevicePrimaryCtxGetState(g.dev, nullptr, nullptr));
    r.k("state_nothing_bad_dev", cuDevicePrimaryCtxGetState(99, nullptr, nullptr));
    r.k("set_flags_bad_dev", cuDevicePrimaryCtxSetFlags(99, 0));
    r.k("set_bad_flags_bad_dev", cuDevicePrimaryCtxSetFlags(99, 3));
    r.k("reset_bad_dev", cuDevicePrimaryCtxReset(99));
    r.k("reset_neg_dev", cuDevicePrimaryCtxReset(-1));
    r.k("release_bad_dev", cuDevicePrimaryCtxRelease(-1));
  });

  add("ctx.primary_reset_streams", ISO | SLOW, [](Rec& r) {
    CUstream s = nullptr;
    CUevent e = nullptr;
    OK(cuStreamCreate(&s, NB));
    OK(cuEventCreate(&e, 0));
    OK(cuEventRecord(e, s));
    OK(cuStreamSynchronize(s));
    OK(cuDevicePrimaryCtxReset(g.dev));
    r.k("query", cuStreamQuery(s));
    r.k("sync", cuStreamSynchronize(s));
    unsigned f = 0;
    r.k("flags", cuStreamGetFlags(s, &f));
    r.k("event_query", cuEventQuery(e));
    r.k("record", cuEventRecord(e, s));
    r.k("event_destroy", cuEventDestroy(e));
    r.k("destroy", cuStreamDestroy(s));
  });
  add("ctx.primary_reset_then_retained", ISO | SLOW, [](Rec& r) {
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    OK(cuDevicePrimaryCtxReset(g.dev));
    CUcontext c = nullptr;
    r.k("retain", cuDevicePrimaryCtxRetain(&c, g.dev));
    CUstream t = nullptr;
    r.k("create", cuStreamCreate(&t, NB));
    r.k("new_query", cuStreamQuery(t));
    r.k("old_query", cuStreamQuery(s));
    r.k("old_destroy", cuStreamDestroy(s));
  });
  add("ctx.destroy_streams", ISO | SECOND_CONTEXT | SLOW, [](Rec& r) {
    OtherCtx o;
    CUstream s = nullptr;
    CUevent e = nullptr;
    {
      Current cur(o);
      OK(cuStreamCreate(&s, NB));
      OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    }
    OK(o.destroy());
    r.k("query", cuStreamQuery(s));
    r.k("sync", cuStreamSynchronize(s));
    r.k("event_query", cuEventQuery(e));
    Stream mine(NB);
    r.k("wait", cuStreamWaitEvent(mine, e, 0));
    r.k("event_destroy", cuEventDestroy(e));
    r.k("destroy", cuStreamDestroy(s));
  });
  add("ctx.primary_flags_by_context", ISO | SLOW, [](Rec& r) {
    for (unsigned flags : {0u, 1u, 4u, 0x10u, 0x20u, 0x80u}) {
      unsigned state = 999;
      int active = 0;
      OK(cuCtxSetFlags(flags));
      OK(cuDevicePrimaryCtxGetState(g.dev, &state, &active));
      r.k("state" + std::to_string(flags), state);
    }
  });
  add("ctx.primary_reset_never_made", RAW | SLOW, [](Rec& r) {
    init_device();
    unsigned f = 0;
    int active = -1;
    r.k("reset", cuDevicePrimaryCtxReset(g.dev));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &active));
    r.k("active", active);
    r.k("release", cuDevicePrimaryCtxRelease(g.dev));
  });
  add("ctx.primary_reset_busy", ISO | SLOW, [](Rec& r) {
    CUstream s = nullptr;
    OK(cuStreamCreate(&s, NB));
    HostGate gate;  // the words of pinned memory are freed with the context
    gate.arm(s);
    OK(gate.entered() ? CUDA_SUCCESS : CUDA_ERROR_TIMEOUT);
    record_blocking(r, "reset",
                    blocking([&] { gate.open(); }, [] { return cuDevicePrimaryCtxReset(g.dev); }));
  });
  add("ctx.primary_release_counts", ISO | SLOW, [](Rec& r) {
    CUcontext c = nullptr;
    unsigned f = 0;
    int active = -1;
    OK(cuDevicePrimaryCtxRetain(&c, g.dev));
    r.k("reset", cuDevicePrimaryCtxReset(g.dev));
    r.k("release1", cuDevicePrimaryCtxRelease(g.dev));
    r.k("release2", cuDevicePrimaryCtxRelease(g.dev));
    r.k("release3", cuDevicePrimaryCtxRelease(g.dev));
    r.k("retain", cuDevicePrimaryCtxRetain(&c, g.dev));
    OK(cuDevicePrimaryCtxGetState(g.dev, &f, &active));
    r.k("active", active);
  });
}

}  // namespace weir::conformance
