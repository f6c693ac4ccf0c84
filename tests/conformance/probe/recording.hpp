// probe/recording.hpp - the lines of an earlier run, and how this one differs from them.
#pragma once

#include "probe/process/run.hpp"

#include <map>
#include <string>
#include <vector>

namespace weir::conformance {

// The words of each case's line.
using Recording = std::map<std::string, std::vector<std::string>>;

// False, after saying so, if the file cannot be read.
bool read_recording(const std::string& path, Recording* out);

// Did a case of an earlier run come to its end?
bool is_complete(const std::vector<std::string>& words);

// Prints the cases of this run that differ from the recorded lines. Keys that begin with '~' do not
// count, and where the recorded driver crashed, whatever comes from that point on is as good; cases
// that lack a second device are left out. The exit status: 0 the same, 1 different, 2 no file.
int compare_with(const std::string& path, const Run& run);

}  // namespace weir::conformance
