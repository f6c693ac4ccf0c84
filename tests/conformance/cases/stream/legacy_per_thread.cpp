// SPDX-License-Identifier: Apache-2.0
// cases/stream/legacy_per_thread.cpp - the per-thread default stream of this thread and of others.
#include "probe/probe.hpp"

#include <thread>

namespace weir::conformance {
void legacy_per_thread_cases() {
  add("legacy.per_thread", [](Rec& r) {
    rec_waits(r, "legacy_after_per_thread", PER_THREAD, LEGACY);
    rec_waits(r, "per_thread_after_legacy", LEGACY, PER_THREAD);
  });
  add("legacy.per_thread_and_created", [](Rec& r) {
    Stream b(BL), n(NB);
    rec_waits(r, "blocking_after_per_thread", PER_THREAD, b);
    rec_waits(r, "per_thread_after_blocking", b, PER_THREAD);
    rec_waits(r, "nonblocking_after_per_thread", PER_THREAD, n);
    rec_waits(r, "per_thread_after_nonblocking", n, PER_THREAD);
  });
  add("legacy.per_thread_of_two_threads", [](Rec& r) {
    Cell c = new_cell(), d = new_cell();
    ValueGate v;
    v.arm(PER_THREAD);
    mark(PER_THREAD, d);
    on_thread([&] {
      mark(PER_THREAD, c);
      r.k("other_thread_runs", late(c));
      r.k("other_thread_sync", cuStreamSynchronize(PER_THREAD));
    });
    r.k("main_waits", !early(d));
    v.open();
    r.k("main_done", late(d));
    OK(cuStreamSynchronize(PER_THREAD));
  });
  add("legacy.other_threads_per_thread", [](Rec& r) {
    // A legacy operation of this thread and another thread's per-thread default stream, in both
    // directions.
    ValueGate v;
    Cell c = new_cell();
    Trace& armed = new_trace();
    Trace& go = new_trace();
    std::thread th([&] {
      cuCtxSetCurrent(g.ctx);
      v.try_arm(PER_THREAD);
      armed.add("x");
      go.wait_size(1, 6000);
      cuStreamSynchronize(PER_THREAD);
    });
    armed.wait_size(1, kMustHappenMs);
    CUresult e = cuMemsetD32Async(c.d, 1, 1, LEGACY);
    bool waits = !early(c);
    v.open();
    bool done = late(c);
    go.add("go");
    th.join();
    r.k("memset", e);
    r.k("legacy_waits_other_threads_per_thread", waits);
    r.k("done", done);
    ValueGate w;
    Cell d = new_cell();
    w.arm(LEGACY);
    bool other_waits = false;
    on_thread([&] {
      mark(PER_THREAD, d);
      other_waits = !early(d);
    });
    r.k("other_threads_per_thread_waits_legacy", other_waits);
    w.open();
    r.k("done2", late(d));
    OK(cuCtxSynchronize());
  });
  add("legacy.per_thread_of_ended_thread", [](Rec& r) {
    // a thread ends while its per-thread stream has work
    Cell c = new_cell(), d = new_cell();
    Event e;
    ValueGate v;
    BlockingResult b = blocking([&] { v.open(); },
                                [&] {
                                  on_thread([&] {
                                    v.arm(PER_THREAD);
                                    mark(PER_THREAD, c);
                                    OK(cuEventRecord(e, PER_THREAD));
                                  });
                                  return CUDA_SUCCESS;
                                },
                                1500);
    r.k("thread_end_waits", b.blocked);
    r.k("event", cuEventQuery(e));
    mark(LEGACY, d);
    r.k("legacy_waits", !early(d));
    r.k("early", c.get() == 1);
    v.open();
    r.k("done", late(c) && late(d));
    r.k("event_sync", cuEventSynchronize(e));
    OK(cuCtxSynchronize());
  });
  add("legacy.submitted_by_other_thread", [](Rec& r) {
    Stream s(BL);
    Cell c = new_cell();
    ValueGate v;
    v.arm(s);
    on_thread([&] { mark(nullptr, c); });
    r.k("waits", !early(c));
    v.open();
    r.k("done", late(c));
    OK(cuCtxSynchronize());
  });
}

}  // namespace weir::conformance
