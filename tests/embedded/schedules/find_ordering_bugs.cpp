// SPDX-License-Identifier: Apache-2.0
// schedules/find_ordering_bugs.cpp - counts the seeds of a schedule that show each ordering bug.
// usage: weir_find_ordering_bugs SCHEDULE SEEDS
//   Prints for each bug and distance how many of the seeds 1 to SEEDS show it.
// usage: weir_find_ordering_bugs SCHEDULE SEEDS check
//   Fails unless the seeds show each bug of depth 1, and no repaired program gives wrong data.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "embedded/schedules/ordering_bugs.hpp"

namespace {

using weir::test::ordering_bug;
using weir::test::recorder;
using weir::test::variant;

constexpr int distances[] = {1, 8, 64};
constexpr int wrong_data = 1;  // the exit status of a child

// Runs a program in a child process, which has the schedule. Returns the exit status.
int run_under(const std::string& schedule, const ordering_bug& bug, variant kind, int distance) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("WEIR_EMBEDDED_SCHEDULE", schedule.c_str(), 1);
    const recorder calls;
    std::_Exit(bug.run(calls, kind, distance) ? 0 : wrong_data);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || !WIFEXITED(status)) std::exit(2);
  return WEXITSTATUS(status);
}

// Returns how many of the seeds give wrong data.
int count_wrong(const std::string& schedule, int seeds, const ordering_bug& bug, variant kind,
                int distance) {
  int wrong = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    const int status = run_under(schedule + ":" + std::to_string(seed), bug, kind, distance);
    if (status > wrong_data) std::exit(status);
    if (status == wrong_data) ++wrong;
  }
  return wrong;
}

void print_table(const std::string& schedule, int seeds) {
  std::printf("%-28s", "distance");
  for (const int distance : distances) std::printf("%4d", distance);
  std::printf("\n");
  for (const ordering_bug& bug : weir::test::ordering_bugs()) {
    std::printf("%-26s %d", bug.name, bug.depth);
    for (const int distance : distances)
      std::printf("%4d", count_wrong(schedule, seeds, bug, variant::bug, distance));
    std::printf("\n");
  }
}

// Returns the first seed that shows a bug; 0 if none does.
int first_seed(const std::string& schedule, int seeds, const ordering_bug& bug, int distance) {
  for (int seed = 1; seed <= seeds; ++seed) {
    if (run_under(schedule + ":" + std::to_string(seed), bug, variant::bug, distance) == wrong_data)
      return seed;
  }
  return 0;
}

bool check(const std::string& schedule, int seeds) {
  bool passed = true;
  for (const ordering_bug& bug : weir::test::ordering_bugs()) {
    for (const int distance : distances) {
      const char* problem = nullptr;
      if (bug.depth == 1 && first_seed(schedule, seeds, bug, distance) == 0)
        problem = "no seed shows the bug";
      if (count_wrong(schedule, seeds, bug, variant::repaired, distance) != 0)
        problem = "the repaired program gave wrong data";
      if (problem == nullptr) continue;
      std::printf("%s, distance %d: %s\n", bug.name, distance, problem);
      passed = false;
    }
  }
  return passed;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const int seeds = std::atoi(arguments[2]);
  if (count > 3 && std::string_view{arguments[3]} == "check")
    return check(arguments[1], seeds) ? EXIT_SUCCESS : EXIT_FAILURE;
  print_table(arguments[1], seeds);
  return EXIT_SUCCESS;
}
