// SPDX-License-Identifier: Apache-2.0
// completion_latency.cpp - the time from the end of a stream's work until the program continues.
#include "completion/held_streams.hpp"
#include "completion/wait_methods.hpp"
#include "harness/figure.hpp"
#include "harness/timing.hpp"

#include <array>
#include <chrono>
#include <compare>
#include <cstddef>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace bench {
namespace {

using times = std::vector<double>;  // microseconds

constexpr int turns = 4;
// Rounds at the start of a turn that are not counted, in which the measured threads wake up.
constexpr int rounds_to_warm_up = 5;

struct setting {
  std::size_t streams = 1;
  // How long a stream stays blocked, plus a little more each round, so that the waiter has reached
  // its steady state.
  std::chrono::microseconds hold{20};
  int rounds = 500;  // in each turn
  auto operator<=>(const setting&) const = default;
};

// All streams are blocked and awaited. In each round a random one is released, then blocked and
// awaited again. The clock starts when the host releases it. On an H200 all figures include about 2
// us until the device sees that.
void measure_turn(wait_method_kind name, const setting& settings, held_streams& streams,
                  std::mt19937& random, times& to) {
  const std::size_t count = streams.streams().size();
  std::vector<arrival> arrivals(count);
  const std::unique_ptr<wait_method> how = make_wait_method(name, streams.streams(), arrivals);
  const auto begin = [&](std::size_t i) {
    arrivals[i].at.store(0);
    streams.hold(i);
    how->await(i);
  };
  const auto has_arrived = [&](std::size_t i) {
    return arrivals[i].at.load(std::memory_order_acquire) != 0;
  };
  for (std::size_t i = 0; i < count; ++i) begin(i);
  for (int round = -rounds_to_warm_up; round < settings.rounds; ++round) {
    std::size_t i = random() % count;
    while (!streams.has_started(i)) i = (i + 1) % count;
    const auto until = clock::now() + settings.hold + settings.hold * (random() % 256) / 512;
    while (clock::now() < until) how->poll();
    const auto released = clock::now();
    streams.release(i);
    while (!has_arrived(i)) how->poll();
    const auto after = arrivals[i].at.load() - released.time_since_epoch().count();
    if (round >= 0) to.push_back(static_cast<double>(after) / 1000);
    begin(i);
  }
  for (std::size_t i = 0; i < count; ++i) streams.release(i);
  for (std::size_t i = 0; i < count; ++i) {
    while (!has_arrived(i)) how->poll();
  }
}

using results = std::map<wait_method_kind, times>;

// The methods take turns, so that all of them see the machine in an equal state.
results measure_all(const setting& settings, std::span<const wait_method_kind> methods) {
  held_streams held{settings.streams};
  std::mt19937 random{1};
  results all;
  for (int turn = 0; turn < turns; ++turn) {
    for (const wait_method_kind name : methods)
      measure_turn(name, settings, held, random, all[name]);
  }
  return all;
}

constexpr std::array all_methods{wait_method_kind::coroutine,      wait_method_kind::polled,
                                 wait_method_kind::waiting,        wait_method_kind::sync_wait,
                                 wait_method_kind::event_query,    wait_method_kind::stream_sync,
                                 wait_method_kind::blocking_event, wait_method_kind::host_function,
                                 wait_method_kind::callback};
// A thread for each of many streams would measure the number of processors.
constexpr std::array methods_for_many_streams{wait_method_kind::coroutine, wait_method_kind::polled,
                                              wait_method_kind::event_query,
                                              wait_method_kind::host_function};
constexpr std::array methods_for_long_work{wait_method_kind::coroutine, wait_method_kind::waiting,
                                           wait_method_kind::stream_sync,
                                           wait_method_kind::host_function};

const results& measured(const setting& settings, std::span<const wait_method_kind> methods) {
  static std::map<setting, results> known;
  results& of = known[settings];
  if (of.empty()) of = measure_all(settings, methods);
  return of;
}

// Adds figures for each method; the budgets apply to the coroutine.
void add_figures(std::vector<registration>& to, const std::string& name, const setting& settings,
                 std::span<const wait_method_kind> methods, double median_budget = no_budget,
                 double p99_budget = no_budget) {
  for (const wait_method_kind each : methods) {
    const auto add = [&](const char* suffix, const char* unit, double part, double budget) {
      to.emplace_back(
          figure{.name = "completion/" + name + "/" + name_of(each) + suffix,
                 .unit = unit,
                 .budget = each == wait_method_kind::coroutine ? budget : no_budget,
                 .runs_on = driver_filter::gpu,
                 .measure = [=] { return quantile(measured(settings, methods).at(each), part); }});
    };
    add("", "us, median", 0.5, median_budget);
    add("/p99", "us, 99 of 100", 0.99, p99_budget);
  }
}

const std::vector<registration> figures = [] {
  using namespace std::chrono_literals;
  std::vector<registration> made;
  add_figures(made, "1", {}, all_methods, 5, 15);
  add_figures(made, "16", {.streams = 16}, methods_for_many_streams, 10);
  add_figures(made, "64", {.streams = 64}, methods_for_many_streams, 18);
  // For work that takes longer.
  add_figures(made, "300us", {.hold = 300us, .rounds = 100}, methods_for_long_work);
  add_figures(made, "2ms", {.hold = 2ms, .rounds = 25}, methods_for_long_work);
  return made;
}();

}  // namespace
}  // namespace bench
