// SPDX-License-Identifier: Apache-2.0
// tools/weir/run/run.cpp - the command `weir run`: its options and its steps.
#include "run/run.hpp"

#include "failure.hpp"
#include "job_options.hpp"
#include "progress.hpp"
#include "run/child_run.hpp"
#include "run/run_plan.hpp"
#include "run/seed_list.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace weir::tool {
namespace run {
namespace {

constexpr std::array<std::string_view, 5> schedules_with_seeds{"explore", "random", "late", "early",
                                                               "priority"};
constexpr std::array<std::string_view, 2> schedules_without_seeds{"parallel", "serial"};

struct options {
  std::string seeds = "1..32";
  std::vector<std::string> schedules{"explore"};
  std::string fail_calls;
  int jobs = 0;
  int limit_seconds = 300;
  std::vector<std::string> command;
};

// A run and its outcome.
struct finished_run {
  planned_run run;
  child_outcome outcome;
};

run_group schedule_group(std::string_view name, const std::vector<std::uint64_t>& seeds) {
  const bool has_seeds = std::ranges::count(schedules_with_seeds, name) != 0;
  return {std::string{name}, "WEIR_EMBEDDED_SCHEDULE",
          has_seeds ? std::string{name} + ':' : std::string{name},
          has_seeds ? seeds : std::vector<std::uint64_t>{}};
}

std::vector<run_group> groups_of(const options& options) {
  std::vector<run_group> groups;
  if (!options.fail_calls.empty()) {
    groups.push_back({"failing call", "WEIR_FAIL_CALL", "", parse_seeds(options.fail_calls)});
    return groups;
  }
  const std::vector<std::uint64_t> seeds = parse_seeds(options.seeds);
  for (const std::string& name : options.schedules) {
    if (name != "all") {
      groups.push_back(schedule_group(name, seeds));
      continue;
    }
    for (const std::string_view each : schedules_with_seeds)
      groups.push_back(schedule_group(each, seeds));
    for (const std::string_view each : schedules_without_seeds)
      groups.push_back(schedule_group(each, seeds));
  }
  return groups;
}

// Runs commands on several threads.
class runner {
 public:
  explicit runner(const options& options)
      : options_{options}, environment_{embedded_environment()} {}

  [[nodiscard]] child_outcome run(const planned_run& planned) const {
    std::vector<variable> environment = environment_;
    environment.push_back(planned.setting());
    return run_child(options_.command, environment, std::chrono::seconds{options_.limit_seconds});
  }

  // Returns the runs that failed, in the order of `runs`.
  [[nodiscard]] std::vector<finished_run> run_all(const std::vector<planned_run>& runs) const {
    std::vector<std::optional<child_outcome>> failures(runs.size());
    std::atomic<std::size_t> next{0};
    std::exception_ptr stopped;
    std::mutex stopping;
    progress bar{runs.size()};
    const auto work = [&] {
      for (std::size_t i = next++; i < runs.size(); i = next++) {
        try {
          child_outcome outcome = run(runs[i]);
          if (is_failure(outcome)) failures[i] = std::move(outcome);
        } catch (...) {
          const std::lock_guard lock{stopping};
          stopped = std::current_exception();
          next = runs.size();
        }
        bar.advance(1);
      }
    };
    {
      std::vector<std::jthread> threads;
      for (int i = 1; i < jobs(); ++i) threads.emplace_back(work);
      work();
    }
    if (stopped != nullptr) std::rethrow_exception(stopped);
    std::vector<finished_run> failed;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      if (failures[i]) failed.push_back({runs[i], *std::move(failures[i])});
    }
    return failed;
  }

  [[nodiscard]] std::string line_to_repeat(const planned_run& planned) const {
    std::vector<variable> environment = environment_;
    environment.push_back(planned.setting());
    return shell_line(environment, options_.command);
  }

 private:
  [[nodiscard]] int jobs() const {
    return options_.jobs != 0 ? options_.jobs
                              : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  // A test may fail because a driver call has failed, but it may neither crash nor hang.
  [[nodiscard]] bool is_failure(const child_outcome& outcome) const {
    if (options_.fail_calls.empty()) return !outcome.succeeded();
    return outcome.how != child_outcome::ending::exited;
  }

  const options& options_;
  std::vector<variable> environment_;
};

std::vector<std::uint64_t> numbers_of(const std::vector<finished_run>& runs,
                                      const run_group& group) {
  std::vector<std::uint64_t> numbers;
  for (const finished_run& each : runs) {
    if (each.run.group == &group) numbers.push_back(each.run.number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

// Prints a line for each group: which of its runs failed.
void print_groups(const std::vector<run_group>& groups, const std::vector<finished_run>& failed) {
  for (const run_group& group : groups) {
    const std::vector<std::uint64_t> numbers = numbers_of(failed, group);
    if (group.numbers.empty()) {
      fmt::print("{}: {}\n", group.name, numbers.empty() ? "passed" : "failed");
    } else if (numbers.empty()) {
      fmt::print("{} {}: all {} passed\n", group.name, seeds_text(group.numbers),
                 group.numbers.size());
    } else {
      fmt::print("{} {}: {} of {} failed: {}\n", group.name, seeds_text(group.numbers),
                 numbers.size(), group.numbers.size(), seeds_text(numbers));
    }
  }
}

// Runs the failed runs again, until one fails again. Returns that run; nothing if all pass now.
std::optional<finished_run> find_repeatable(const runner& runs,
                                            const std::vector<finished_run>& failed) {
  for (const finished_run& each : failed) {
    child_outcome again = runs.run(each.run);
    if (again.how == each.outcome.how && again.status == each.outcome.status)
      return finished_run{each.run, std::move(again)};
  }
  return std::nullopt;
}

void run_command(const options& options) {
  const std::vector<run_group> groups = groups_of(options);
  const runner runs{options};
  const std::vector<finished_run> failed = runs.run_all(runs_in_turn(groups));
  print_groups(groups, failed);
  if (failed.empty()) return;
  const std::optional<finished_run> repeatable = find_repeatable(runs, failed);
  const finished_run& shown = repeatable ? *repeatable : failed.front();
  const auto [name, value] = shown.run.setting();
  fmt::print("\noutput with {}={}:\n{}{}", name, value, shown.outcome.output,
             shown.outcome.output.ends_with('\n') ? "" : "\n");
  fmt::print("\n{} with {}={}{}; to repeat it:\n{}\n",
             shown.outcome.text(std::chrono::seconds{options.limit_seconds}), name, value,
             repeatable ? ", twice" : ", but not again", runs.line_to_repeat(shown.run));
  throw failure{
      fmt::format("'{}' failed in {} of the runs", options.command.front(), failed.size())};
}

}  // namespace
}  // namespace run

void add_run(CLI::App& program) {
  const auto parsed = std::make_shared<run::options>();
  CLI::App* const command = program.add_subcommand(
      "run", "Run tests on the embedded driver, once for each seed of its schedules");
  command
      ->add_option("--schedules", parsed->schedules,
                   "explore, random, late, early, priority, parallel, serial, or all; several with "
                   "commas")
      ->delimiter(',')
      ->check(CLI::IsMember(
          {"all", "explore", "random", "late", "early", "priority", "parallel", "serial"}))
      ->capture_default_str();
  command->add_option("--seeds", parsed->seeds, "The seeds of each schedule")
      ->capture_default_str();
  command->add_option(
      "--fail-calls", parsed->fail_calls,
      "Instead of schedules: fail the driver call with each of these numbers, one a "
      "run, such as 1..200; a run fails if it crashes or hangs");
  command->add_option("--jobs", parsed->jobs, "Number of runs at a time; default: the processors")
      ->check(CLI::Range(1, 1024));
  command->add_option("--limit", parsed->limit_seconds, "Seconds after which a run counts as hung")
      ->check(CLI::Range(1, 86'400))
      ->capture_default_str();
  command->add_option("COMMAND", parsed->command, "The tests and their arguments, after --")
      ->required();
  command->prefix_command();
  command->callback([parsed] { run::run_command(*parsed); });
}

}  // namespace weir::tool
