// SPDX-License-Identifier: Apache-2.0
// probe/options.hpp - the options of the command line.
#pragma once

#include "probe/time_limits.hpp"

#include <string>
#include <vector>

namespace weir::conformance {

struct Options {
  enum class Mode { record, list, groups, in_process, child, keeper, ipc_peer };
  Mode mode = Mode::record;

  std::vector<std::string> filter, skip, again;
  std::string exact;
  std::string out;
  std::string compare;
  std::string resume;
  double case_limit = 10;  // seconds
  double budget = 290;     // seconds
  int jobs = 1;
  bool device = true;  // all processes share one device
  bool keeper = true;
  bool verbose = false;

  // For a child process.
  std::vector<size_t> cases;
  double watchdog_limit = kWatchdogLimit;

  // Returns true if the options filter, skip and exact select the case.
  bool selects(const std::string& name) const;
};

// Returns false, after printing the usage, if an argument is invalid or help is requested; *status
// is then the exit status.
bool parse(int argc, char** argv, Options* options, int* status);

// Splits a text at the separators; drops empty parts.
std::vector<std::string> split(const std::string& text, char separator = ',');

}  // namespace weir::conformance
