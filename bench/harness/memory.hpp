// harness/memory.hpp - how much memory this process has.
#pragma once

#include <malloc.h>
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

// Bytes that are allocated by malloc() now, with what that needs itself.
[[nodiscard]] inline double allocated_bytes() {
  const struct mallinfo2 now = ::mallinfo2();
  return static_cast<double>(now.uordblks + now.hblkhd);
}

}  // namespace bench
