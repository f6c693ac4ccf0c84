// harness/fresh_process.hpp - measurements that a process can make only once, and then is good for
// nothing else.
#pragma once

#include "harness/figure.hpp"

#include <string>

namespace bench {

// The option by which a copy of this program is told to measure one figure, and to write nothing
// but its value.
inline constexpr const char* alone_option = "--alone";

// The figure, measured by a copy of this program. Throws std::runtime_error if it fails.
[[nodiscard]] double measure_alone(const figure& what);

// The copy's part: the value goes to standard output, and the process ends without looking back.
// What it throws is told, and ends it, too.
[[noreturn]] void run_alone(const std::string& name);

}  // namespace bench
