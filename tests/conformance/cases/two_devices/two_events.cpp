// SPDX-License-Identifier: Apache-2.0
// cases/two_devices/two_events.cpp - events of one device in streams of the other.
#include "probe/probe.hpp"

namespace weir::conformance {
namespace {

class FarEvent {
 public:
  CUevent e = nullptr;
  explicit FarEvent(const SecondDevice& device1, unsigned flags = CU_EVENT_DISABLE_TIMING) {
    const Current current(device1.ctx);
    OK(cuEventCreate(&e, flags));
  }
  FarEvent(const FarEvent&) = delete;
  FarEvent& operator=(const FarEvent&) = delete;
  ~FarEvent() {
    if (e) cuEventDestroy(e);
  }
  operator CUevent() const { return e; }
};

}  // namespace

void two_events_cases() {
  add("two.event_recorded_across", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const Event near;
    const FarEvent there(device1);
    r.k("near_in_far", cuEventRecord(near, device1.s));
    r.k("far_in_near", cuEventRecord(there, s));
    r.k("near_query", cuEventQuery(near));
    r.k("far_in_far", cuEventRecord(there, device1.s));
    r.k("far_sync", cuEventSynchronize(there));
    r.k("far_query", cuEventQuery(there));
    r.k("near_in_far_with_flags", cuEventRecordWithFlags(near, device1.s, 0));
    r.k("far_in_near_legacy", cuEventRecord(there, nullptr));
    const Current current(device1.ctx);
    r.k("near_in_far_legacy", cuEventRecord(near, nullptr));
    r.k("near_in_near", cuEventRecord(near, s));
    r.k("near_sync", cuEventSynchronize(near));
  });
  add("two.event_waited_across", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const Event near;
    const FarEvent there(device1);
    r.k("unrecorded", cuStreamWaitEvent(device1.s, near, 0));
    OK(cuEventRecord(near, s));
    OK(cuEventRecord(there, device1.s));
    r.k("far_waits_near", cuStreamWaitEvent(device1.s, near, 0));
    r.k("near_waits_far", cuStreamWaitEvent(s, there, 0));
    r.k("legacy_waits_far", cuStreamWaitEvent(nullptr, there, 0));
    OK(cuCtxSynchronize());
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.event_while_other_is_current", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    FarEvent there(device1);
    ValueGate v;
    hold(v, device1.s);
    OK(cuEventRecord(there, device1.s));
    r.k("query_held", cuEventQuery(there));
    record_blocking(r, "sync",
                    blocking([&] { v.open(); }, [&] { return cuEventSynchronize(there); }));
    v.open();
    OK(cuStreamSynchronize(device1.s));
    r.k("query", cuEventQuery(there));
    r.k("destroy", cuEventDestroy(there));
    there.e = nullptr;
  });
  add("two.event_elapsed", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const Event near(0);
    const FarEvent there(device1, 0), later(device1, 0);
    OK(cuEventRecord(near, s));
    OK(cuEventRecord(there, device1.s));
    OK(cuEventRecord(later, device1.s));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(device1.s));
    float ms = -1;
    r.k("near_to_far", cuEventElapsedTime(&ms, near, there));
    r.k("far_to_near", cuEventElapsedTime(&ms, there, near));
    r.k("far_to_far", cuEventElapsedTime(&ms, there, later));
    r.k("far_to_far.sane", ms >= 0 && ms < 1000);
  });
  add("two.event_by_context", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Event near;
    const FarEvent there(device1);
    r.k("far_of_far", cuCtxRecordEvent(device1.ctx, there));
    r.k("near_of_far", cuCtxRecordEvent(device1.ctx, near));
    r.k("far_of_near", cuCtxRecordEvent(g.ctx, there));
    r.k("near_of_near", cuCtxRecordEvent(g.ctx, near));
    OK(cuCtxSynchronize());
    r.k("far_waits_near", cuCtxWaitEvent(device1.ctx, near));
    r.k("near_waits_far", cuCtxWaitEvent(g.ctx, there));
    OK(cuCtxSynchronize());
    OK(cuCtxSynchronize_v2(device1.ctx));
  });
  add("two.event_by_context_orders", SECOND_DEVICE, [](Rec& r) {
    const SecondDevice device1;
    const Stream s(NB);
    const FarEvent there(device1);
    ValueGate v;
    hold(v, device1.s);
    OK(cuCtxRecordEvent(device1.ctx, there));
    r.k("wait", cuCtxWaitEvent(g.ctx, there));
    Cell c = new_cell();
    mark(s, c);
    r.k("early", early(c));
    v.open();
    r.k("done", late(c));
    OK(cuStreamSynchronize(s));
    OK(cuStreamSynchronize(device1.s));
  });
  add("two.event_recorded_again_across", SECOND_DEVICE, [](Rec& r) {
    // An event of device 0, recorded in a blocked stream of device 0, then waited for in a stream
    // of device 1.
    const SecondDevice device1;
    const Stream s(NB);
    const Event near;
    ValueGate v;
    hold(v, s);
    OK(cuEventRecord(near, s));
    r.k("in_far", cuEventRecord(near, device1.s));
    r.k("query", cuEventQuery(near));
    v.open();
    OK(cuStreamSynchronize(s));
    r.k("query_then", cuEventQuery(near));
  });
}

}  // namespace weir::conformance
