// SPDX-License-Identifier: Apache-2.0
// probe/recording.hpp - the lines of an earlier run, and the differences to them.
#pragma once

#include "probe/process/run.hpp"

#include <map>
#include <string>
#include <vector>

namespace weir::conformance {

// The words of each case's line.
using Recording = std::map<std::string, std::vector<std::string>>;

// Returns false, after printing the reason, if the file cannot be read.
bool read_recording(const std::string& path, Recording* out);

// Returns true if the case of the earlier run ended normally.
bool is_complete(const std::vector<std::string>& words);

// Prints the cases of this run that differ from the recorded lines. Ignores keys that begin with
// '~', everything after the point at which the recorded driver crashed, and cases that lack a
// second device. Returns the exit status: 0 equal, 1 different, 2 no file.
int compare_with(const std::string& path, const Run& run);

}  // namespace weir::conformance
