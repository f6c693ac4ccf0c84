// support/wait_until_asleep.hpp - looks whether another thread sleeps.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>
#include <thread>

namespace weir::test {

// Returns when the kernel says that the thread of this process, by the number that gettid() gives
// it, sleeps, or has ended.
inline void wait_until_asleep(pid_t thread) {
  for (;;) {
    std::string line;
    std::getline(std::ifstream{"/proc/self/task/" + std::to_string(thread) + "/stat"}, line);
    if (line.empty() || line.find(") S ") != std::string::npos) return;
    std::this_thread::yield();
  }
}

}  // namespace weir::test
