// SPDX-License-Identifier: Apache-2.0
// cases/context/profiler.cpp - the profiler's start and stop without a profiler.
#include "cases/stream/inside.hpp"

#include <string>
#include <utility>

namespace weir::conformance {

void profiler_cases() {
  add("profiler.start_stop", ISO, [](Rec& r) {
    r.k("stop_first", cuProfilerStop());
    r.k("start", cuProfilerStart());
    r.k("start_again", cuProfilerStart());
    r.k("stop", cuProfilerStop());
    r.k("stop_again", cuProfilerStop());
  });
  add("profiler.without_context", RAW, [](Rec& r) {
    r.k("start_before_init", cuProfilerStart());
    r.k("stop_before_init", cuProfilerStop());
    init_device();
    r.k("start", cuProfilerStart());
    r.k("stop", cuProfilerStop());
  });
  add("profiler.while_busy", ISO, [](Rec& r) {
    Stream s(NB);
    ValueGate gate;
    gate.arm(s);
    record_blocking(r, "start", blocking([&] { gate.open(); }, [] { return cuProfilerStart(); }));
    gate.open();
    OK(cuStreamSynchronize(s));
    ValueGate again;
    again.arm(s);
    record_blocking(r, "stop", blocking([&] { again.open(); }, [] { return cuProfilerStop(); }));
  });
  add("profiler.while_capturing", ISO, [](Rec& r) {
    Stream s(NB);
    begin(s);
    lab(s, "a");
    r.k("start", cuProfilerStart());
    r.k("status", capture_status(s));
    r.k("stop", cuProfilerStop());
    r.k("status2", capture_status(s));
    rec_end(r, "end", s);
  });
  // whether it is unsafe like an allocation, or refused in every mode like the synchronization of a
  // context
  for (const CUstreamCaptureMode mode : {GLOBAL, LOCAL, RELAXED})
    add("profiler.capture_mode." + lower(name_of(mode)), ISO, [mode](Rec& r) {
      Stream s(NB);
      for (const auto& [key, call] :
           {std::pair{"start", cuProfilerStart}, {"stop", cuProfilerStop}}) {
        const std::string k = key;
        begin(s, mode);
        r.k(k, call());
        r.k(k + ".status", capture_status(s));
        rec_end(r, k + ".end", s);
        begin(s, mode);
        {
          const ThreadMode relaxed(RELAXED);
          r.k(k + ".relaxed_thread", call());
          r.k(k + ".relaxed_thread.status", capture_status(s));
        }
        rec_end(r, k + ".relaxed_thread.end", s);
        begin(s, mode);
        on_thread([&, call = call] { r.k(k + ".other_thread", call()); });
        r.k(k + ".other_thread.status", capture_status(s));
        rec_end(r, k + ".other_thread.end", s);
      }
    });
  for (const char* kind : {"hostfn", "callback"})
    add(std::string("profiler.inside.") + kind, ISO | SLOW,
        [kind](Rec& r) { run_inside(r, kind, [](InsideEnv&) { return cuProfilerStart(); }); });
}

}  // namespace weir::conformance
