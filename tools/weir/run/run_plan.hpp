// SPDX-License-Identifier: Apache-2.0
// tools/weir/run/run_plan.hpp - the runs of `weir run`, and how they ended.
#pragma once

#include "run/child_run.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace weir::tool::run {

// The common properties of a group of runs: a schedule, or failing calls.
struct run_group {
  std::string name;                    // "explore", "parallel", "failing call"
  std::string variable;                // the variable of the environment that differs
  std::string prefix;                  // the start of its value: "explore:"
  std::vector<std::uint64_t> numbers;  // the rest of its value; empty for a single run
};

// One run: the value of its variable is the prefix of its group and a number.
struct planned_run {
  const run_group* group;
  std::uint64_t number;

  [[nodiscard]] variable setting() const {
    return {group->variable,
            group->numbers.empty() ? group->prefix : group->prefix + std::to_string(number)};
  }
};

// Returns the runs of the groups in turn: the first number of each group, then the second, and so
// on. So a bug that any group shows is found early.
[[nodiscard]] std::vector<planned_run> runs_in_turn(const std::vector<run_group>& groups);

// The environment in which a program uses the embedded driver: the drop-in in the library path.
// Without a drop-in beside the tool, only programs that use weir run on the embedded driver.
[[nodiscard]] std::vector<variable> embedded_environment();

// Returns the command as a line for a shell.
[[nodiscard]] std::string shell_line(const std::vector<variable>& environment,
                                     const std::vector<std::string>& command);

}  // namespace weir::tool::run
