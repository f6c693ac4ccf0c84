// SPDX-License-Identifier: Apache-2.0
// request_server.cpp - the request rate of a server with a coroutine for each request, compared
// with a thread for each, and with host functions.
#include "harness/figure.hpp"
#include "harness/timing.hpp"
#include "server/requests.hpp"
#include "server/servers.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bench {
namespace {

constexpr int turns = 2;
constexpr std::chrono::milliseconds length{150};  // of each run

struct answered {
  double thousand_a_second = 0;
  double p99 = 0;        // microseconds
  double processor = 0;  // microseconds of processor time for each request
};

constexpr std::array weirs{server::coroutines, server::coroutines_on_4, server::coroutines_in_8,
                           server::coroutines_gathered};
// Servers without spinning threads. Servers with them are shown, too: they use all processors.
constexpr std::array others{server::threads, server::host_functions, server::host_functions_on_4};
constexpr std::array servers{weirs[0],
                             weirs[1],
                             weirs[2],
                             weirs[3],
                             server::spinning_threads,
                             others[0],
                             others[1],
                             others[2],
                             server::host_functions_gathered,
                             server::queued_only};

using results = std::map<server, answered>;

// The servers alternate, so that all of them see the machine in an equal state.
results measure(std::size_t slots, submit_mode how) {
  requests all{slots, how};
  std::map<server, std::vector<double>> times;
  std::map<server, double> seconds;
  std::map<server, double> processor;
  for (int turn = 0; turn < turns; ++turn) {
    for (const server which : servers) {
      server_run one{slots, length};
      const auto used = processor_clock::now();
      run(which, all, one);
      processor[which] +=
          std::chrono::duration<double, std::micro>{processor_clock::now() - used}.count();
      seconds[which] += one.seconds();
      for (const std::vector<double>& part : one.times()) {
        times[which].insert(times[which].end(), part.begin(), part.end());
      }
    }
  }
  results of;
  for (const server which : servers) {
    const std::vector<double>& each = times[which];
    of[which] = {static_cast<double>(each.size()) / seconds[which] / 1000, quantile(each, 0.99),
                 processor[which] / static_cast<double>(each.size())};
  }
  return of;
}

const results& measured(std::size_t slots, submit_mode how) {
  static std::map<std::pair<std::size_t, submit_mode>, results> known;
  results& of = known[{slots, how}];
  if (of.empty()) of = measure(slots, how);
  return of;
}

const answered& best(const results& of, std::span<const server> among) {
  const auto less = [&](server a, server b) {
    return of.at(a).thousand_a_second < of.at(b).thousand_a_second;
  };
  return of.at(*std::ranges::max_element(among, less));
}

void add_figures(std::vector<registration>& to, std::size_t slots, submit_mode how,
                 driver_filter where) {
  const std::string name = "server/" + std::to_string(slots) +
                           (how == submit_mode::from_graph ? "/from_graph" : "") + "/";
  for (const server which : servers) {
    to.emplace_back(
        figure{.name = name + text_of(which),
               .unit = "thousand a second",
               .better = better::more,
               .runs_on = where,
               .measure = [=] { return measured(slots, how).at(which).thousand_a_second; }});
    to.emplace_back(figure{.name = name + text_of(which) + "/p99",
                           .unit = "us, 99 of 100",
                           .runs_on = where,
                           .measure = [=] { return measured(slots, how).at(which).p99; }});
    to.emplace_back(figure{.name = name + text_of(which) + "/processor",
                           .unit = "us of a processor each",
                           .runs_on = where,
                           .measure = [=] { return measured(slots, how).at(which).processor; }});
  }
  // Graphs of one request each are slower than their parts: shown without a budget.
  if (slots != 256 || how == submit_mode::from_graph) return;
  to.emplace_back(figure{.name = name + "gain",
                         .unit = "x the best other",
                         .budget = 2,
                         .better = better::more,
                         .runs_on = where,
                         .budget_on = driver_filter::gpu,
                         .measure = [=] {
                           const results& of = measured(slots, how);
                           return best(of, weirs).thousand_a_second /
                                  best(of, others).thousand_a_second;
                         }});
  to.emplace_back(figure{.name = name + "gain_gathered",
                         .unit = "x host functions that are gathered, too",
                         .better = better::more,
                         .runs_on = where,
                         .measure = [=] {
                           const results& of = measured(slots, how);
                           return of.at(server::coroutines_gathered).thousand_a_second /
                                  of.at(server::host_functions_gathered).thousand_a_second;
                         }});
  to.emplace_back(figure{.name = name + "p99_beside",
                         .unit = "x that of the best other",
                         .budget = 1,
                         .runs_on = where,
                         .budget_on = driver_filter::gpu,
                         .measure = [=] {
                           const results& of = measured(slots, how);
                           return best(of, weirs).p99 / best(of, others).p99;
                         }});
}

const std::vector<registration> figures = [] {
  std::vector<registration> made;
  // On the embedded driver the waiting thread does the work, so other servers would add little.
  add_figures(made, 16, submit_mode::each_time, driver_filter::any);
  add_figures(made, 64, submit_mode::each_time, driver_filter::gpu);
  add_figures(made, 256, submit_mode::each_time, driver_filter::any);
  add_figures(made, 1024, submit_mode::each_time, driver_filter::gpu);
  add_figures(made, 256, submit_mode::from_graph, driver_filter::gpu);
  return made;
}();

}  // namespace
}  // namespace bench
