// SPDX-License-Identifier: Apache-2.0
// harness/fresh_process.cpp - measures one figure in a copy of this program.
#include "harness/fresh_process.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace bench {
namespace {

struct close_file {
  void operator()(std::FILE* open) const noexcept { std::fclose(open); }
};
using file = std::unique_ptr<std::FILE, close_file>;

struct outlet {
  outlet() {
    if (::pipe(ends.data()) != 0) throw std::runtime_error{"no pipe to another process"};
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
  }
  outlet(const outlet&) = delete;
  outlet& operator=(const outlet&) = delete;
  ~outlet() {
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
  }

  std::array<int, 2> ends{};
  posix_spawn_file_actions_t actions{};
};

}  // namespace

double measure_alone(const figure& what) {
  std::string name = what.name;
  std::string option = alone_option;
  std::string program = "weir_bench";
  const std::array<char*, 4> arguments{program.data(), option.data(), name.data(), nullptr};
  pid_t child = 0;
  file from_child;
  {
    const outlet out;
    from_child.reset(::fdopen(out.ends[0], "r"));
    if (::posix_spawn(&child, "/proc/self/exe", &out.actions, nullptr, arguments.data(), environ) !=
        0) {
      throw std::runtime_error{"no copy of this program begins"};
    }
  }
  double value = 0;
  const bool is_there = std::fscanf(from_child.get(), "%lf", &value) == 1;
  int status = 0;
  if (::waitpid(child, &status, 0) != child || status != 0 || !is_there) {
    throw std::runtime_error{"the process that was to measure it has failed"};
  }
  return value;
}

void run_alone(const std::string& name) {
  try {
    const std::span<const figure> all = all_figures();
    const auto found = std::ranges::find(all, name, &figure::name);
    if (found == all.end()) throw std::runtime_error{"there is no figure " + name};
    fmt::print("{}\n", found->measure());
    std::fflush(stdout);
    std::_Exit(0);  // a driver may not survive this measurement
  } catch (const std::exception& failure) {
    fmt::print(stderr, "{}: {}\n", name, failure.what());
    std::_Exit(1);
  }
}

}  // namespace bench
