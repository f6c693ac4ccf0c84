// SPDX-License-Identifier: Apache-2.0
// harness/memory.hpp - the memory use of this process.
#pragma once

#include <malloc.h>
#include <unistd.h>

#include <fstream>

namespace bench {

// Returns the resident memory in MiB.
[[nodiscard]] inline double resident_mib() {
  std::ifstream statm{"/proc/self/statm"};
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) / (1024.0 * 1024.0);
}

// Returns the bytes currently allocated by malloc(), including its overhead.
[[nodiscard]] inline double allocated_bytes() {
  const struct mallinfo2 now = ::mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

}  // namespace bench
