// SPDX-License-Identifier: Apache-2.0
// support/wait_until_asleep.hpp - waits until another thread sleeps.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <string>
#include <thread>

namespace weir::test {

// Returns once the kernel reports that the thread, identified by its gettid() number, sleeps or has
// ended.
inline void wait_until_asleep(pid_t thread) {
  for (;;) {
    std::string line;
    std::getline(std::ifstream{"/proc/self/task/" + std::to_string(thread) + "/stat"}, line);
    if (line.empty() || line.find(") S ") != std::string::npos) return;
    std::this_thread::yield();
  }
}

}  // namespace weir::test
