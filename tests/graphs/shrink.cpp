// SPDX-License-Identifier: Apache-2.0
// graphs/shrink.cpp - runs one process after the other with fewer steps.
#include "graphs/shrink.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace weir::graphs {
namespace {

std::vector<std::string> options_of(const reproduction& r) {
  std::vector<std::string> all{fmt::format("--seed={}", r.seed),
                               fmt::format("--length={}", r.length)};
  if (r.seed % 2 != 0) all.push_back(fmt::format("--lane={}", r.sequence));
  if (!r.left_out.empty()) all.push_back(fmt::format("--without={}", fmt::join(r.left_out, ",")));
  return all;
}

// Each attempt runs in its own process, because a finding leaves the driver in an unknown state. A
// crash or a hang does not count as the finding.
bool reproduces(const reproduction& r, bool print_output) {
  std::vector<std::string> options = options_of(r);
  options.insert(options.begin(), "weir_graphs");
  options.insert(options.end(), {"--count=1", "--shrink=0", fmt::format("--limit={}", r.limit),
                                 fmt::format("--patience={}", r.wait_limit.count())});
  std::vector<char*> arguments;
  for (std::string& one : options) arguments.push_back(one.data());
  arguments.push_back(nullptr);
  ::posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (!print_output) {
    ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  }
  ::pid_t child = 0;
  int status = 0;
  const int spawned =
      ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  return spawned == 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 1;
}

}  // namespace

void shrink(reproduction of, unsigned seconds) {
  using steady = std::chrono::steady_clock;
  const steady::time_point until = steady::now() + std::chrono::seconds{seconds};
  if (!reproduces(of, false)) {
    std::printf("not found again by: weir_graphs %s\n",
                fmt::format("{}", fmt::join(options_of(of), " ")).c_str());
    return;
  }
  // Leaves out many steps at a time first, then single ones until all are needed.
  for (unsigned many = std::max(of.length / 2, 1u);;) {
    bool less = false;
    for (unsigned end = of.length; end > 0 && steady::now() < until; end -= std::min(end, many)) {
      reproduction shorter = of;
      for (unsigned i = end - std::min(end, many); i < end; ++i) shorter.left_out.insert(i);
      if (shorter.left_out.size() == of.left_out.size() || !reproduces(shorter, false)) continue;
      of = std::move(shorter);
      less = true;
    }
    if (steady::now() >= until || (many == 1 && !less)) break;
    many = std::max(many / 2, 1u);
  }
  std::printf("with fewer calls: weir_graphs %s\n",
              fmt::format("{}", fmt::join(options_of(of), " ")).c_str());
  std::fflush(stdout);
  (void)reproduces(of, true);
}

}  // namespace weir::graphs
