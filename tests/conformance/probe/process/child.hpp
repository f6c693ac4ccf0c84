// probe/child.hpp - a process that runs the cases it is given, one after the other.
#pragma once

#include "probe/cases.hpp"

#include <cstddef>
#include <vector>

namespace weir::conformance {

constexpr int kProtocolFd = 3;    // where a child writes its messages
constexpr int kNotReusable = 77;  // the exit status of a child that must not run another case

// The whole life of a child: `list` are indices of cases(). After watchdog_limit_s of a case (three
// times that of a slow one), everything that it could be waiting for is released, once.
int child_main(const std::vector<size_t>& list, double watchdog_limit_s);

// The pieces of it, for a run without children.
void child_environment(bool alone);  // before the library is loaded
void child_setup();                  // device, context, scratch memory; throws Abort
void child_warm_up();  // each kind of work once, so that nothing is loaded lazily while a case
                       // holds a stream
void prepare_case(const Case& c);  // what may take long, before the time of the case begins
void run_case(const Case& c, bool set_up, double watchdog_limit_s);

// Is the process fit for another case? A capture left open, work left running, another current
// context, a changed thread mode or a context in error say no.
bool is_reusable();

// A process that holds the device open beside a run, so that each child's set-up is short. Ends
// with its parent.
int device_keeper_main();

}  // namespace weir::conformance
