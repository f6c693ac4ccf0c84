// SPDX-License-Identifier: Apache-2.0
// Lesson 22: changing the parameters of captured work in three ways: captured and instantiated
// again, captured and updated, one node set.
#include <chrono>
#include <cstdio>
#include <weir/weir.hpp>

int main() {
  using clock = std::chrono::steady_clock;
  using microseconds = std::chrono::duration<double, std::micro>;
  constexpr int steps = 100;
  constexpr int rounds = 200;
  const weir::device gpu;
  const weir::stream s{gpu};
  weir::buffer<int> x{s, 1000};
  weir::pinned_buffer<int> home{x.size()};

  // Many fills, one value of which changes in each round.
  const auto work = [&](int value) {
    for (int i = 1; i < steps; ++i) weir::fill(s, x, -1);
    weir::fill(s, x, value);
    weir::copy(s, x, home);
  };

  // A way is correct if each of its rounds returns the round's value. The measured time is the
  // host's time in a round before the launch:
  bool right = true;
  const auto measure = [&](const char* method, auto prepare) {
    microseconds spent{0};
    for (int round = 1; round <= rounds; ++round) {
      const clock::time_point begin = clock::now();
      const weir::graph_exec& run = prepare(round);
      spent += clock::now() - begin;
      run.launch(s);
      s.sync();
      right = right && home[0] == round;
    }
    std::printf("%-28s %7.1f us a round\n", method, spent.count() / rounds);
    return spent;
  };

  // A new executable each time, as in a program that only captures.
  weir::graph_exec anew = weir::capture_exec(s, [&] { work(0); });
  const auto re_instantiated =
      measure("captured and made anew", [&](int value) -> const weir::graph_exec& {
        anew = weir::capture_exec(s, [&] { work(value); });
        return anew;
      });

  // A capture again, but the executable is updated with the new parameters. The body may be library
  // code.
  weir::graph_exec reused = weir::capture_exec(s, [&] { work(0); });
  measure("captured and updated", [&](int value) -> const weir::graph_exec& {
    right = right && reused.update(weir::capture(s, [&] { work(value); }));
    return reused;
  });

  // No capture: the node that changes is found by its tag and set. In a captured graph it is looked
  // up once.
  const weir::graph recorded = weir::capture(s, [&](weir::capture_scope& scope) {
    work(0);
    scope.graph().tag(weir::capture_info_of(s).frontier.at(0).node.dependencies().at(0).source,
                      "value");
  });
  weir::graph_exec changed = recorded.instantiate();
  const auto last = changed.find("value").as<weir::fill_node>();
  const auto set = measure("one node set", [&](int value) -> const weir::graph_exec& {
    changed.set(last, weir::fill_parameters{x, value});
    return changed;
  });

  std::printf("setting the node is %.0f times as fast as making it anew\n", re_instantiated / set);
  return right ? 0 : 1;
}
