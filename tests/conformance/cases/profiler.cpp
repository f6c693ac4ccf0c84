// cases/profiler.cpp - the profiler's start and stop without a profiler.
#include "cases/inside.hpp"

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
    VGate gate;
    gate.arm(s);
    rec_blk(r, "start", blocking([&] { gate.open(); }, [] { return cuProfilerStart(); }));
    gate.open();
    OK(cuStreamSynchronize(s));
    VGate again;
    again.arm(s);
    rec_blk(r, "stop", blocking([&] { again.open(); }, [] { return cuProfilerStop(); }));
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
  for (const char* kind : {"hostfn", "callback"})
    add(std::string("profiler.inside.") + kind, ISO | SLOW,
        [kind](Rec& r) { run_inside(r, kind, [](InsideEnv&) { return cuProfilerStart(); }); });
}

}  // namespace weir::conformance
