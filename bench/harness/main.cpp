// SPDX-License-Identifier: Apache-2.0
// harness/main.cpp - weir_bench [FILTER] [--json FILE]: measures the figures whose names contain
// FILTER.
#include "harness/figure.hpp"
#include "harness/fresh_process.hpp"
#include "harness/report.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <exception>
#include <string>
#include <vector>
#include <weir/core/driver.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>

namespace {

bool applies(bench::driver_filter where, weir::driver_kind driver) {
  switch (where) {
    case bench::driver_filter::any: return true;
    case bench::driver_filter::embedded: return driver == weir::driver_kind::embedded;
    case bench::driver_filter::gpu: return driver == weir::driver_kind::cuda;
  }
  return false;
}

bench::outcome measure(const bench::figure& figure, weir::driver_kind driver) {
  bench::outcome outcome;
  outcome.what = &figure;
  outcome.device = weir::device{}.name();
  if (applies(figure.budget_on, driver)) outcome.budget = figure.budget;
  try {
    outcome.value = figure.alone ? bench::measure_alone(figure) : figure.measure();
  } catch (const bench::unavailable& missing) {
    outcome.reason = missing.what();
  } catch (const std::exception& failure) {
    outcome.failed = true;
    outcome.reason = std::string{"failed: "} + failure.what();
  }
  return outcome;
}

int measure_this_alone(const std::string& name) {
  const weir::context_scope current{weir::device{}};
  bench::run_alone(name);
}

int run(const std::string& filter, const std::string& json) {
  const weir::driver_kind driver = weir::current_driver().kind;
  const weir::context_scope current{weir::device{}};
  std::vector<bench::outcome> outcomes;
  bench::print_head();
  for (const bench::figure& figure : bench::all_figures()) {
    if (figure.name.find(filter) == std::string::npos || !applies(figure.runs_on, driver)) continue;
    outcomes.push_back(measure(figure, driver));
    bench::print_line(outcomes.back());
  }
  if (outcomes.empty()) {
    fmt::print(stderr, "weir_bench: no figure of this driver has a name with '{}' in it\n", filter);
    return 2;
  }
  if (!json.empty()) bench::write_json(json, outcomes);
  return std::ranges::any_of(outcomes, &bench::outcome::failed) ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"Measures what weir costs, and says whether that is within its budgets",
                   "weir_bench"};
  std::string filter;
  std::string json;
  program.add_option("FILTER", filter, "Measure only the figures whose names contain this");
  program.add_option("--json", json, "Write the figures to this file as well");
  std::string alone;
  program
      .add_option(bench::alone_option, alone,
                  "Measure this figure and write its value: what the program has its copies do")
      ->group("");
  CLI11_PARSE(program, argc, argv);
  try {
    if (!alone.empty()) return measure_this_alone(alone);
    return run(filter, json);
  } catch (const std::exception& failure) {
    fmt::print(stderr, "weir_bench: {}\n", failure.what());
    return 1;
  }
}
