// harness/timing.hpp - how long things take, on machines that do other things as well.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <limits>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

// Nanoseconds that one call of `work` takes.
template <class Work>
[[nodiscard]] double time_once(Work&& work) {
  const auto start = clock::now();
  work();
  return std::chrono::duration<double, std::nano>{clock::now() - start}.count();
}

// Nanoseconds a piece of a batch: `work()` does `pieces` of them. The fastest batch counts: whatever else the machine
// does can only make one slower. `settle()` runs after each batch and is not timed.
template <class Work, class Settle>
[[nodiscard]] double fastest(int batches, std::size_t pieces, Work&& work, Settle&& settle) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < batches; ++i) {
    best = std::min(best, time_once(work));
    settle();
  }
  return best / static_cast<double>(pieces);
}

template <class Work>
[[nodiscard]] double fastest(int batches, std::size_t pieces, Work&& work) {
  return fastest(batches, pieces, work, [] {});
}

// How many times as long `ours` takes as `raw`. Batches of the two alternate, and which of them goes first alternates
// too, so that a clock that changes and caches that fill change both; the fastest batch of each counts.
template <class Raw, class Ours, class Settle>
[[nodiscard]] double ratio(int rounds, Raw&& raw, Ours&& ours, Settle&& settle) {
  double best_raw = std::numeric_limits<double>::infinity();
  double best_ours = std::numeric_limits<double>::infinity();
  const auto run_raw = [&] {
    best_raw = std::min(best_raw, time_once(raw));
    settle();
  };
  const auto run_ours = [&] {
    best_ours = std::min(best_ours, time_once(ours));
    settle();
  };
  raw();
  ours();
  settle();
  for (int round = 0; round < rounds; ++round) {
    if (round % 2 == 0) {
      run_raw();
      run_ours();
    } else {
      run_ours();
      run_raw();
    }
  }
  return best_ours / best_raw;
}

// The median of `count` timings of one call, in nanoseconds, after a tenth as many that are not counted.
template <class Work>
[[nodiscard]] double median(std::size_t count, Work&& work) {
  for (std::size_t i = 0; i < count / 10; ++i) work();
  std::vector<double> times(count);
  for (double& t : times) t = time_once(work);
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(count / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

}  // namespace bench
