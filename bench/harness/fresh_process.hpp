// SPDX-License-Identifier: Apache-2.0
// harness/fresh_process.hpp - measurements that a process can make only once, and that make it
// unusable for others.
#pragma once

#include "harness/figure.hpp"

#include <string>

namespace bench {

// The option that makes a copy of this program measure one figure and print only its value.
inline constexpr const char* alone_option = "--alone";

// Returns the figure, measured by a copy of this program. Throws std::runtime_error if the copy
// fails.
[[nodiscard]] double measure_alone(const figure& what);

// Runs in the copy: prints the value to standard output and exits without clean-up. An exception is
// printed, and also ends the process.
[[noreturn]] void run_alone(const std::string& name);

}  // namespace bench
