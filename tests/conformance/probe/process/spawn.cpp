// SPDX-License-Identifier: Apache-2.0
// probe/process/spawn.cpp - starts other processes of this program.
#include "probe/process/spawn.hpp"

#include "probe/process/child.hpp"
#include "probe/time_limits.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace weir::conformance {
namespace {

const char* signal_name(int number) {
  switch (number) {
    case SIGSEGV: return "SIGSEGV";
    case SIGABRT: return "SIGABRT";
    case SIGBUS: return "SIGBUS";
    case SIGFPE: return "SIGFPE";
    case SIGILL: return "SIGILL";
    case SIGTRAP: return "SIGTRAP";
    case SIGKILL: return "SIGKILL";
    case SIGPIPE: return "SIGPIPE";
    case SIGTERM: return "SIGTERM";
    case SIGALRM: return "SIGALRM";
    default: return "signal";
  }
}

}  // namespace

pid_t spawn_self(const std::vector<std::string>& arguments, int protocol, int in, int out) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  const auto connect = [&](int from, int to, int how) {
    if (from >= 0) {
      posix_spawn_file_actions_adddup2(&actions, from, to);
    } else {
      posix_spawn_file_actions_addopen(&actions, to, "/dev/null", how, 0);
    }
  };
  connect(in, STDIN_FILENO, O_RDONLY);
  connect(out, STDOUT_FILENO, O_WRONLY);
  if (protocol >= 0) posix_spawn_file_actions_adddup2(&actions, protocol, kProtocolFd);
  std::vector<std::string> all = {"probe"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& a : all) argv.push_back(a.data());
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error ? -1 : pid;
}

int reap(pid_t pid, int ms, bool* has_exited) {
  int status = 0;
  const Clock::time_point begin = Clock::now();
  for (;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    *has_exited = ended != 0;
    if (ended == pid) return status;
    if (ended < 0 || seconds_since(begin) * 1000 > ms) return 0;
    sleep_ms(2);
  }
}

std::string describe_exit(int status, bool has_exited) {
  if (has_exited && WIFSIGNALED(status))
    return std::string("crash=") + signal_name(WTERMSIG(status));
  return "crash=exit" + std::to_string(has_exited && WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

}  // namespace weir::conformance
