// SPDX-License-Identifier: Apache-2.0
// cases/event/event_state.cpp - flags, query, synchronize; which work a record covers.
#include "probe/probe.hpp"

namespace weir::conformance {

void event_state_cases() {
  add("event.create_flags", [](Rec& r) {
    for (unsigned f : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 0x10u, 0x20u, 0x80000000u}) {
      CUevent e = nullptr;
      r.k("f" + std::to_string(f), cuEventCreate(&e, f));
      if (e) cuEventDestroy(e);
    }
  });
  add("event.unrecorded", [](Rec& r) {
    Event e(0);
    Stream s(NB);
    r.k("query", cuEventQuery(e));
    r.k("sync", cuEventSynchronize(e));
    r.k("wait", cuStreamWaitEvent(s, e, 0));
    r.k("wait_null_stream", cuStreamWaitEvent(nullptr, e, 0));
    r.k("stream_sync", cuStreamSynchronize(s));
  });
  add("event.query_and_sync", [](Rec& r) {
    Event e;
    Stream s(NB);
    ValueGate v;
    v.arm(s);
    r.k("record", cuEventRecord(e, s));
    r.k("pending", cuEventQuery(e));
    record_blocking(r, "sync", blocking([&] { v.open(); }, [&] { return cuEventSynchronize(e); }));
    r.k("complete", cuEventQuery(e));
    r.k("sync_again", cuEventSynchronize(e));
  });
  add("event.sync_flags", [](Rec& r) {
    Stream s(NB);
    for (unsigned f : {0u, 1u, 2u, 3u}) {
      Event e(f);
      ValueGate v;
      v.arm(s);
      OK(cuEventRecord(e, s));
      record_blocking(r, "f" + std::to_string(f),
                      blocking([&] { v.open(); }, [&] { return cuEventSynchronize(e); }));
    }
  });
  add("event.idle_stream_completes", [](Rec& r) {
    Event e;
    Stream s(NB);
    OK(cuEventRecord(e, s));
    r.k("completes_without_sync",
        wait_for([&] { return cuEventQuery(e) == CUDA_SUCCESS; }, kMustHappenMs));
  });
  add("event.later_work_not_captured", [](Rec& r) {
    Event e;
    Stream s(NB);
    OK(cuEventRecord(e, s));
    ValueGate v;
    v.arm(s);
    r.k("complete_while_stream_busy",
        wait_for([&] { return cuEventQuery(e) == CUDA_SUCCESS; }, kMustHappenMs));
    record_blocking(r, "sync", blocking([&] { v.open(); }, [&] { return cuEventSynchronize(e); }));
    v.open();
    OK(cuStreamSynchronize(s));
  });
  add("event.rerecord_takes_latest", [](Rec& r) {
    Event e;
    Stream a(NB), b(NB);
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, a));
    r.k("first", cuEventQuery(e));
    OK(cuEventRecord(e, b));
    r.k("second_completes", wait_for([&] { return cuEventQuery(e) == CUDA_SUCCESS; }, 1000));
    record_blocking(r, "sync", blocking([&] { v.open(); }, [&] { return cuEventSynchronize(e); }));
    v.open();
    OK(cuStreamSynchronize(a));
  });
  add("event.rerecord_becomes_pending", [](Rec& r) {
    Event e;
    Stream a(NB);
    OK(cuEventRecord(e, a));
    OK(cuEventSynchronize(e));
    r.k("complete", cuEventQuery(e));
    ValueGate v;
    v.arm(a);
    OK(cuEventRecord(e, a));
    r.k("pending_again", cuEventQuery(e));
    v.open();
    OK(cuStreamSynchronize(a));
    r.k("complete_again", cuEventQuery(e));
  });
}

}  // namespace weir::conformance
