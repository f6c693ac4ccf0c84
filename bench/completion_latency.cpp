// completion_latency.cpp - how long does it take from the end of a stream's work until the program goes on?
#include "completion/held_streams.hpp"
#include "completion/ways.hpp"
#include "harness/figure.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <array>
#include <chrono>
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
constexpr int rounds = 500;  // in each
// For as long a stream is held, and a little more each time: who waits is then where it waits.
constexpr std::chrono::microseconds shortest_hold{20};

// All streams are held and awaited; in each round one of them, by chance, is released, and then held and awaited again.
// The clock begins when the host releases it. That the device takes some 2 us to see that on an H200 is in all figures.
void measure_turn(way_name name, held_streams& streams, std::mt19937& chance, times& to) {
  const std::size_t count = streams.streams().size();
  std::vector<arrival> arrivals(count);
  const std::unique_ptr<way> how = make_way(name, streams.streams(), arrivals);
  const auto begin = [&](std::size_t i) {
    arrivals[i].at.store(0);
    streams.hold(i);
    how->await(i);
  };
  const auto has_arrived = [&](std::size_t i) { return arrivals[i].at.load(std::memory_order_acquire) != 0; };
  for (std::size_t i = 0; i < count; ++i) begin(i);
  for (int round = 0; round < rounds; ++round) {
    std::size_t i = chance() % count;
    while (!streams.has_begun(i)) i = (i + 1) % count;
    const auto until = clock::now() + shortest_hold + std::chrono::nanoseconds{chance() % 8192};
    while (clock::now() < until) how->meanwhile();
    const auto released = clock::now();
    streams.release(i);
    while (!has_arrived(i)) how->meanwhile();
    to.push_back(static_cast<double>(arrivals[i].at.load() - released.time_since_epoch().count()) / 1000);
    begin(i);
  }
  for (std::size_t i = 0; i < count; ++i) streams.release(i);
  for (std::size_t i = 0; i < count; ++i) {
    while (!has_arrived(i)) how->meanwhile();
  }
}

using results = std::map<way_name, times>;

// The ways take turns, so that all of them meet the same machine.
results measure_all(std::size_t streams, std::span<const way_name> ways) {
  held_streams held{streams};
  std::mt19937 chance{1};
  results all;
  for (int turn = 0; turn < turns; ++turn) {
    for (const way_name name : ways) measure_turn(name, held, chance, all[name]);
  }
  return all;
}

constexpr std::array all_ways{way_name::coroutine,      way_name::polled,        way_name::waiting,
                              way_name::sync_wait,      way_name::event_query,   way_name::stream_sync,
                              way_name::blocking_event, way_name::host_function, way_name::callback};
// A thread for each of many streams would measure how many processors there are.
constexpr std::array ways_of_many{way_name::coroutine, way_name::polled, way_name::event_query,
                                  way_name::host_function};

const results& measured(std::size_t streams) {
  static std::map<std::size_t, results> known;
  results& of = known[streams];
  if (of.empty()) of = streams == 1 ? measure_all(streams, all_ways) : measure_all(streams, ways_of_many);
  return of;
}

struct budgets {
  std::size_t streams;
  double median;
  double p99;
};
constexpr std::array asked{budgets{1, 5, 15}, budgets{16, 10, no_budget}, budgets{64, 18, no_budget}};

const std::vector<registration> figures = [] {
  std::vector<registration> made;
  for (const budgets& of : asked) {
    const auto add = [&](way_name name, const char* suffix, const char* unit, double part, double budget) {
      made.emplace_back(figure{.name = "completion/" + std::to_string(of.streams) + "/" + text_of(name) + suffix,
                               .unit = unit,
                               .budget = name == way_name::coroutine ? budget : no_budget,
                               .runs_on = on::gpu,
                               .measure = [=] { return quantile(measured(of.streams).at(name), part); }});
    };
    const auto add_both = [&](way_name name) {
      add(name, "", "us, median", 0.5, of.median);
      add(name, "/p99", "us, 99 of 100", 0.99, of.p99);
    };
    if (of.streams == 1) {
      std::ranges::for_each(all_ways, add_both);
    } else {
      std::ranges::for_each(ways_of_many, add_both);
    }
  }
  return made;
}();

}  // namespace
}  // namespace bench
