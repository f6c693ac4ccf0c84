// SPDX-License-Identifier: Apache-2.0
// cases/context/green_order.cpp - execution order in green contexts: events of all their streams,
// waits for all of them, legacy barriers.
#include "cases/context/greens.hpp"

namespace weir::conformance {

void green_order_cases() {
  add("green.record_event", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c), t(c);
    Stream outside(NB);
    Event e, f;
    r.k("idle", cuGreenCtxRecordEvent(c, e));
    r.k("idle.sync", cuEventSynchronize(e));
    ValueGate gate, outside_gate;
    gate.arm(t);
    outside_gate.arm(outside);
    r.k("record", cuGreenCtxRecordEvent(c, e));
    r.k("held", cuEventQuery(e));
    r.k("primary", cuCtxRecordEvent(g.ctx, f));
    r.k("primary.held", cuEventQuery(f));
    gate.open();
    r.k("sync", cuEventSynchronize(e));
    r.k("primary.still_held", cuEventQuery(f));
    outside_gate.open();
    r.k("primary.sync", cuEventSynchronize(f));
  });
  add("green.record_event_by_context", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Event e, timed(0);
    r.k("as_context", cuCtxRecordEvent(c.context(), e));
    r.k("as_context.sync", cuEventSynchronize(e));
    r.k("wait_as_context", cuCtxWaitEvent(c.context(), e));
    r.k("timed", cuGreenCtxRecordEvent(c, timed));
    CUevent made = nullptr;
    {
      Current cur(c.context());
      OK(cuEventCreate(&made, CU_EVENT_DISABLE_TIMING));
    }
    r.k("own_event", cuGreenCtxRecordEvent(c, made));
    r.k("own_event_in_primary", cuCtxRecordEvent(g.ctx, made));
    cuEventDestroy(made);
  });
  add("green.record_covers_primary", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Event e, f;
    ValueGate gate;
    gate.arm(s);
    r.k("primary", cuCtxRecordEvent(g.ctx, e));
    r.k("primary.held_by_green", cuEventQuery(e));
    r.k("green", cuGreenCtxRecordEvent(c, f));
    r.k("green.held", cuEventQuery(f));
    gate.open();
    r.k("sync_e", cuEventSynchronize(e));
    r.k("sync_f", cuEventSynchronize(f));
  });
  add("green.record_other_context_event", SECOND_CONTEXT | SLOW, [](Rec& r) {
    OtherCtx o;
    Green c;
    CUevent e = nullptr;
    {
      Current cur(o);
      OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    }
    r.k("record", cuGreenCtxRecordEvent(c, e));
    r.k("wait", cuGreenCtxWaitEvent(c, e));
    cuEventDestroy(e);
  });

  add("green.wait_event", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Stream outside(NB), holder(NB);
    Event e;
    const Cell in = new_cell(), out = new_cell(), later = new_cell(), in_null = new_cell();
    r.k("unrecorded", cuGreenCtxWaitEvent(c, e));
    ValueGate gate;
    gate.arm(holder);
    OK(cuEventRecord(e, holder));
    r.k("wait", cuGreenCtxWaitEvent(c, e));
    mark(s, in);
    mark(outside, out);
    GreenStream made_later(c);
    mark(made_later, later);
    {
      Current cur(c.context());
      OK(cuMemsetD32Async(in_null.d, 1, 1, LEGACY));
    }
    r.k("outside", late(out));
    r.k("inside_early", early(in));
    r.k("later_early", early(later));
    r.k("default_early", early(in_null));
    gate.open();
    r.k("inside", late(in));
    r.k("later", late(later));
    r.k("default", late(in_null));
  });

  add("green.sync_waits_for", SLOW, [](Rec& r) {
    Green c;
    GreenStream s(c);
    Stream t(NB);
    {
      ValueGate gate;
      gate.arm(s);
      record_blocking(r, "primary_green_held",
                      blocking([&] { gate.open(); }, [] { return cuCtxSynchronize(); }));
    }
    OK(cuStreamSynchronize(s));
    {
      ValueGate gate;
      gate.arm(t);
      Current cur(c.context());
      record_blocking(r, "green_primary_held",
                      blocking([&] { gate.open(); }, [] { return cuCtxSynchronize(); }));
    }
    OK(cuStreamSynchronize(t));
    {
      ValueGate gate;
      gate.arm(s);
      Current cur(c.context());
      record_blocking(r, "green_green_held",
                      blocking([&] { gate.open(); }, [] { return cuCtxSynchronize(); }));
    }
  });

  add("green.legacy_barriers", SLOW, [](Rec& r) {
    Green c;
    Stream outside(BL);
    CUstream inside = nullptr;
    {
      Current cur(c.context());
      OK(cuStreamCreate(&inside, BL));
    }
    const auto held = [&](const char* key, CUstream holder, CUcontext at, CUstream mark_in) {
      const Cell cell = new_cell();
      {
        ValueGate gate;
        gate.arm(holder);
        {
          Current cur(at);
          OK(cuMemsetD32Async(cell.d, 1, 1, mark_in));
        }
        r.k(std::string(key) + ".early", early(cell));
        gate.open();
        r.k(std::string(key) + ".done", late(cell));
      }
      OK(cuStreamSynchronize(holder));
    };
    held("green_null_behind_green_blocking", inside, c.context(), LEGACY);
    held("green_null_behind_primary_blocking", outside, c.context(), LEGACY);
    held("primary_null_behind_green_blocking", inside, g.ctx, LEGACY);
    held("primary_null_behind_primary_blocking", outside, g.ctx, LEGACY);
    cuStreamDestroy(inside);
  });
}

}  // namespace weir::conformance
