// SPDX-License-Identifier: Apache-2.0
// probe/process/child.hpp - a process that runs the cases it is given, one after the other.
#pragma once

#include "probe/cases.hpp"

#include <cstddef>
#include <vector>

namespace weir::conformance {

constexpr int kProtocolFd = 3;    // where a child writes its messages
constexpr int kNotReusable = 77;  // the exit status of a child that must not run another case

// Runs a child process: `list` are indices of cases(). After watchdog_limit_s of a case (three
// times that for a slow one), it releases everything that the case could be waiting for, once.
int child_main(const std::vector<size_t>& list, double watchdog_limit_s);

// The steps of child_main(), for a run without children.
void child_environment(bool alone);  // before the library is loaded
void child_setup();                  // device, context, scratch memory; throws Abort
void child_warm_up();  // uses each kind of work once, so that nothing is loaded lazily while a case
                       // blocks a stream
void prepare_case(const Case& c);  // slow set-up, before the time of the case begins
void run_case(const Case& c, bool set_up, double watchdog_limit_s);

// Returns true if the process can run another case. It cannot after an open capture, running work,
// another current context, a changed thread mode or a context in error.
bool is_reusable();

// Runs a process that holds the device open during a run, which shortens each child's set-up. It
// ends with its parent.
int device_keeper_main();

}  // namespace weir::conformance
