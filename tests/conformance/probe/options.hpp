// probe/options.hpp - what the command line asks for.
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
  bool device = true;  // do all processes share one device?
  bool keeper = true;
  bool verbose = false;

  // Of a child.
  std::vector<size_t> cases;
  double watchdog_limit = kWatchdogLimit;

  // Is the case one of those that filter, skip and exact leave?
  bool selects(const std::string& name) const;
};

// False, after printing the usage, where an argument is not understood or help is asked for;
// *status is then the exit status.
bool parse(int argc, char** argv, Options* options, int* status);

// The parts of a text between separators; empty parts are dropped.
std::vector<std::string> split(const std::string& text, char separator = ',');

}  // namespace weir::conformance
