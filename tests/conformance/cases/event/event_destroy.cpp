// SPDX-License-Identifier: Apache-2.0
// cases/event/event_destroy.cpp - destroying events with work pending; elapsed time.
#include "probe/probe.hpp"

namespace weir::conformance {

void event_destroy_cases() {
  add("event.destroy_pending", [](Rec& r) {
    Stream a(NB), b(NB);
    Cell m = new_cell();
    ValueGate v;
    CUevent e = nullptr;
    OK(cuEventCreate(&e, CU_EVENT_DISABLE_TIMING));
    v.arm(a);
    OK(cuEventRecord(e, a));
    OK(cuStreamWaitEvent(b, e, 0));
    mark(b, m);
    record_blocking(r, "destroy", blocking([&] { v.open(); }, [&] { return cuEventDestroy(e); }));
    r.k("waiter_early", early(m));
    v.open();
    r.k("waiter_done", late(m));
    r.k("sync", cuStreamSynchronize(a));
  });
  add("event.destroy_after_record", [](Rec& r) {
    Stream a(NB);
    CUevent e = nullptr;
    OK(cuEventCreate(&e, 0));
    OK(cuEventRecord(e, a));
    r.k("destroy", cuEventDestroy(e));
    r.k("sync", cuStreamSynchronize(a));
  });
  add("event.elapsed_errors", [](Rec& r) {
    Stream s(NB);
    Event a(0), b(0), n(CU_EVENT_DISABLE_TIMING);
    float ms = -1;
    r.k("neither_recorded", cuEventElapsedTime(&ms, a, b));
    OK(cuEventRecord(a, s));
    OK(cuEventSynchronize(a));
    r.k("end_unrecorded", cuEventElapsedTime(&ms, a, b));
    r.k("start_unrecorded", cuEventElapsedTime(&ms, b, a));
    OK(cuEventRecord(n, s));
    OK(cuEventSynchronize(n));
    r.k("end_no_timing", cuEventElapsedTime(&ms, a, n));
    r.k("start_no_timing", cuEventElapsedTime(&ms, n, a));
    r.k("both_no_timing", cuEventElapsedTime(&ms, n, n));
    ValueGate v;
    v.arm(s);
    OK(cuEventRecord(b, s));
    r.k("end_pending", cuEventElapsedTime(&ms, a, b));
    r.k("start_pending", cuEventElapsedTime(&ms, b, a));
    r.k("pending_and_no_timing", cuEventElapsedTime(&ms, b, n));
    v.open();
    OK(cuEventSynchronize(b));
    r.k("ready", cuEventElapsedTime(&ms, a, b));
    r.k("positive", ms > 0);
    r.k("reversed", cuEventElapsedTime(&ms, b, a));
    r.k("reversed_negative", ms < 0);
    r.k("same", cuEventElapsedTime(&ms, a, a));
    r.k("same_zero", ms == 0.0f);
    ValueGate w;
    w.arm(s);
    OK(cuEventRecord(a, s));
    r.k("rerecord_pending", cuEventElapsedTime(&ms, a, b));
    w.open();
    OK(cuEventSynchronize(a));
  });
  add("event.elapsed_values", [](Rec& r) {
    Stream s(NB), t(NB);
    Event a(0), b(0), c(0);
    OK(cuEventRecord(a, s));
    OK(hf_do(s, [] { sleep_ms(40); }));
    OK(cuEventRecord(b, s));
    OK(cuStreamWaitEvent(t, b, 0));
    OK(cuEventRecord(c, t));
    OK(cuEventSynchronize(c));
    float ab = -1, ac = -1, bc = -1;
    r.k("ab", cuEventElapsedTime(&ab, a, b));
    r.k("ab_at_least_the_work", ab >= 35);
    r.k("ab_below_1s", ab < 1000);
    r.k("across_streams", cuEventElapsedTime(&ac, a, c));
    OK(cuEventElapsedTime(&bc, b, c));
    r.k("across_ordered", ac >= ab && bc >= 0);
  });
  add("event.elapsed_rerecorded", [](Rec& r) {
    Stream s(NB);
    Event a(0), b(0);
    OK(cuEventRecord(b, s));
    OK(cuStreamSynchronize(s));
    OK(cuEventRecord(a, s));
    OK(cuStreamSynchronize(s));
    sleep_ms(5);
    OK(cuEventRecord(b, s));
    OK(cuStreamSynchronize(s));
    float ms = 0;
    OK(cuEventElapsedTime(&ms, a, b));
    r.k("uses_last_record", ms > 0);
  });
  add("event.elapsed_null_stream", [](Rec& r) {
    Event a(0), b(0);
    OK(cuEventRecord(a, nullptr));
    OK(cuEventRecord(b, LEGACY));
    OK(cuEventSynchronize(b));
    float ms = -1;
    r.k("legacy", cuEventElapsedTime(&ms, a, b));
    r.k("not_negative", ms >= 0);
    OK(cuEventRecord(a, PER_THREAD));
    OK(cuEventRecord(b, PER_THREAD));
    OK(cuEventSynchronize(b));
    r.k("per_thread", cuEventElapsedTime(&ms, a, b));
  });
}

}  // namespace weir::conformance
