// SPDX-License-Identifier: Apache-2.0
// support/time_limit.cpp - reports a test that has exceeded its time limit.
#include "support/time_limit.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace weir::test {
namespace {

std::array<char, 256> message{};
std::array<char, 16> process_id{};

void write_message(const char* what) {
  if (write(STDERR_FILENO, what, std::strlen(what)) < 0) return;
}

// Any thread may hold any lock, so this calls only async-signal-safe functions and execlp(), which
// takes no lock in glibc.
void on_timeout(int) {
  write_message(message.data());
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
  const pid_t child = _Fork();
  if (child == 0) {
    dup2(STDERR_FILENO, STDOUT_FILENO);
    execlp("gdb", "gdb", "-p", process_id.data(), "-batch", "-ex", "thread apply all backtrace",
           nullptr);
    _exit(1);
  }
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  _exit(1);
}

}  // namespace

time_limit::time_limit() {
  const char* const limit = std::getenv("WEIR_TEST_LIMIT");
  seconds_ = limit != nullptr ? static_cast<unsigned>(std::strtoul(limit, nullptr, 10)) : 0;
}

void time_limit::OnTestStart(const testing::TestInfo& test) {
  if (seconds_ == 0) return;
  std::snprintf(message.data(), message.size(),
                "%s.%s, or what comes after it, has not ended after %u s\n", test.test_suite_name(),
                test.name(), seconds_);
  std::snprintf(process_id.data(), process_id.size(), "%d", getpid());
  signal(SIGALRM, &on_timeout);
  alarm(seconds_);
}

}  // namespace weir::test
