// SPDX-License-Identifier: Apache-2.0
// probe/process/run.cpp - the parent: assigns cases to children, and prints the results.
#include "probe/process/run.hpp"

#include "probe/cases.hpp"
#include "probe/process/spawn.hpp"

#include <signal.h>

#include <algorithm>
#include <thread>

namespace weir::conformance {
namespace {

constexpr int kMostRetries = 12;
constexpr size_t kSmallUnit = 16;  // cases of one child if children are cheap to start

bool has_process_of_its_own(const Case& c) { return c.flags & (ISO | RAW); }

}  // namespace

std::string group_of(const std::string& name) { return name.substr(0, name.find('.') + 1); }

Run::Run(const Options& o, FILE* out) : options(o), results(cases().size()), out_(out) {
  for (size_t i = 0; i < cases().size(); i++)
    if (options.selects(cases()[i].name)) selected.push_back(i);
}

void Run::complete(const std::vector<size_t>& list) {
  std::lock_guard lock(print_mutex_);
  for (size_t i : list) results[i].done = true;
  if (!out_) return;
  while (printed_ < selected.size() && results[selected[printed_]].done) {
    const size_t i = selected[printed_++];
    std::string line;
    for (const std::string& kv : results[i].kv) line += (line.empty() ? "" : " ") + kv;
    if (!results[i].outcome.empty()) line += (line.empty() ? "" : " ") + results[i].outcome;
    fprintf(out_, "%s\t%s\n", cases()[i].name.c_str(), line.c_str());
    fflush(out_);
  }
}

void Run::finish(size_t i, bool may_repeat) {
  Result& r = results[i];
  const bool late =
      r.outcome == "timeout" || std::find(r.kv.begin(), r.kv.end(), "watchdog=fired") != r.kv.end();
  if (late && may_repeat && options.device && !over_budget(4 * options.case_limit) &&
      retries_ < kMostRetries) {
    retries_++;
    r.again = true;
    return;
  }
  complete({i});
}

double Run::limit_of(size_t i) const {
  return options.case_limit * (cases()[i].flags & SLOW ? kSlowFactor : 1);
}

// Once one child has found no second device, no other process has to be started for these cases.
void Run::answer_for_one_device(Unit* list) {
  if (!one_device) return;
  const auto needs_two = std::stable_partition(
      list->begin(), list->end(), [](size_t i) { return !(cases()[i].flags & SECOND_DEVICE); });
  const Unit known(needs_two, list->end());
  list->erase(needs_two, list->end());
  for (size_t i : known) results[i].kv = {kOneDevice};
  complete(known);
}

void Run::run_unit(Unit list) {
  int failures = 0;
  answer_for_one_device(&list);
  while (!list.empty()) {
    if (over_budget()) {
      for (size_t i : list) results[i].outcome = "skipped=budget";
      complete(list);
      return;
    }
    const Unit mine = list;
    list = run_child(*this, mine, &failures, true);
    for (size_t i : mine) {
      if (!results[i].again) continue;
      if (options.verbose) fprintf(stderr, "# once more: %s\n", cases()[i].name.c_str());
      results[i] = Result{};
      int none = 1;
      run_child(*this, {i}, &none, false);
    }
  }
}

// Makes one unit per group, and one for each case that needs its own process.
void Run::units(std::vector<Unit>* shared, std::vector<Unit>* alone,
                std::vector<Unit>* last) const {
  std::string group;
  for (size_t i : selected) {
    if (results[i].done) continue;
    const bool own = has_process_of_its_own(cases()[i]);
    const std::string prefix = group_of(cases()[i].name);
    std::vector<Unit>& to = prefix == "kernel." ? *last : own ? *alone : *shared;
    if (own) {
      to.push_back({i});
    } else if (prefix == group && !to.empty()) {
      // the group's unit, which need not be the newest
      std::find_if(to.rbegin(), to.rend(), [](const Unit& u) {
        return !has_process_of_its_own(cases()[u[0]]);
      })->push_back(i);
    } else {
      to.push_back({i});
      group = prefix;
    }
  }
  if (!options.device) {
    // Splits the shared units into small pieces, so that no worker has a long one at the end.
    for (const Unit& u : *shared)
      for (size_t i = 0; i < u.size(); i += kSmallUnit)
        alone->emplace_back(u.begin() + i, u.begin() + std::min(i + kSmallUnit, u.size()));
    alone->insert(alone->end(), last->begin(), last->end());
    shared->clear();
    last->clear();
  }
  if (options.jobs > 1) return;
  shared->insert(shared->end(), alone->begin(), alone->end());
  alone->clear();
  std::stable_sort(shared->begin(), shared->end(),
                   [](const Unit& a, const Unit& b) { return a[0] < b[0]; });
}

void Run::all() {
  complete({});
  const pid_t keeper = options.keeper ? spawn_self({"--keeper"}, -1) : -1;
  std::vector<Unit> shared, alone, last;
  units(&shared, &alone, &last);
  std::atomic<size_t> next_shared{0}, next_alone{0};
  const auto work = [this](const std::vector<Unit>& list, std::atomic<size_t>& next) {
    for (size_t u; (u = next.fetch_add(1)) < list.size();) run_unit(list[u]);
  };
  std::vector<std::thread> workers;
  for (int j = 0; j < options.jobs; j++)
    workers.emplace_back([&, j] {
      if (j == 0) work(shared, next_shared);
      work(alone, next_alone);
    });
  for (std::thread& w : workers) w.join();
  for (const Unit& u : last) run_unit(u);
  if (keeper > 0) {
    bool has_exited = false;
    kill(keeper, SIGKILL);
    reap(keeper, 5000, &has_exited);
  }
}

void Run::summary() const {
  size_t timeouts = 0, crashes = 0, skipped = 0, stopped = 0, fired = 0, setup = 0;
  for (size_t i : selected) {
    const Result& r = results[i];
    timeouts += r.outcome == "timeout";
    crashes += r.outcome.starts_with("crash");
    skipped += r.outcome.starts_with("skipped");
    setup += r.outcome.starts_with("setup") || r.outcome == "spawn_failed";
    for (const std::string& kv : r.kv) {
      stopped += kv.starts_with("stopped_at=");
      fired += kv == "watchdog=fired";
    }
    if (options.verbose && r.seconds > 2)
      fprintf(stderr, "# %.1f s  %s\n", r.seconds, cases()[i].name.c_str());
  }
  const double one_setup =
      children ? static_cast<double>(setup_ms) / 1000 / static_cast<double>(children) : 0;
  fprintf(
      stderr,
      "# cases %zu  timeout %zu  crash %zu  setup %zu  skipped %zu  stopped_at %zu  watchdog %zu\n"
      "# children %ld, set up in %.2f s each  restarts %d  run once more %d  whole run %.1f s\n",
      selected.size(), timeouts, crashes, setup, skipped, stopped, fired, children.load(),
      one_setup, restarts.load(), retries_.load(), seconds_since(began_));
}

}  // namespace weir::conformance
