// harness/memory.hpp - how much memory this process has.
#pragma once

#include <unistd.h>
#include <fstream>

namespace bench {

// Mebibytes that are resident now.
[[nodiscard]] inline double resident_mib() {
  std::ifstream statm{"/proc/self/statm"};
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0);
}

}  // namespace bench
