// SPDX-License-Identifier: Apache-2.0
// harness/timing.hpp - time measurements on machines with other load.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <limits>
#include <utility>
#include <vector>

namespace bench {

using clock = std::chrono::steady_clock;

// The processor time of this process.
struct processor_clock {
  using duration = std::chrono::nanoseconds;
  using time_point = std::chrono::time_point<processor_clock, duration>;

  [[nodiscard]] static time_point now() {
    std::timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return time_point{std::chrono::seconds{used.tv_sec} + std::chrono::nanoseconds{used.tv_nsec}};
  }
};

// Returns the nanoseconds that one call of `work` takes.
template <class Clock = clock, class Work>
[[nodiscard]] double time_once(Work&& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double, std::nano>{Clock::now() - start}.count();
}

// Returns the nanoseconds for each piece of a batch: `work()` does `pieces` of them. The fastest
// batch counts, because other load can only make a batch slower. `after_batch()` runs after each
// batch and is not timed.
template <class Clock = clock, class Work, class AfterBatch>
[[nodiscard]] double fastest(int batches, std::size_t pieces, Work&& work,
                             AfterBatch&& after_batch) {
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < batches; ++i) {
    best = std::min(best, time_once<Clock>(work));
    after_batch();
  }
  return best / static_cast<double>(pieces);
}

template <class Work>
[[nodiscard]] double fastest(int batches, std::size_t pieces, Work&& work) {
  return fastest(batches, pieces, work, [] {});
}

// Returns the time of `ours` divided by that of `raw`. Batches of the two alternate, and so does
// which goes first. The result is the median of the quotients of neighbors: a change of clock rate
// affects both, and other load disturbs few pairs.
template <class Raw, class Ours, class AfterBatch>
[[nodiscard]] double ratio(std::size_t rounds, Raw&& raw, Ours&& ours, AfterBatch&& after_batch) {
  const auto timed = [&](auto& work) {
    const double time = time_once(work);
    after_batch();
    return time;
  };
  raw();
  ours();
  after_batch();
  std::vector<double> quotients(rounds);
  for (std::size_t round = 0; round < rounds; ++round) {
    const bool raw_first = round % 2 == 0;
    const double first = raw_first ? timed(raw) : timed(ours);
    const double second = raw_first ? timed(ours) : timed(raw);
    quotients[round] = raw_first ? second / first : first / second;
  }
  const auto middle = quotients.begin() + static_cast<std::ptrdiff_t>(rounds / 2);
  std::nth_element(quotients.begin(), middle, quotients.end());
  return *middle;
}

// Returns the smallest time that at least `part` of the times do not exceed: 0.99 gives the one
// that 1 % exceed.
[[nodiscard]] inline double quantile(std::vector<double> times, double part) {
  const auto rank = static_cast<std::ptrdiff_t>(static_cast<double>(times.size()) * part);
  const auto position =
      times.begin() + std::min(rank, static_cast<std::ptrdiff_t>(times.size()) - 1);
  std::nth_element(times.begin(), position, times.end());
  return *position;
}

// Returns the median.
[[nodiscard]] inline double median(std::vector<double> times) {
  return quantile(std::move(times), 0.5);
}

// Adds the nanoseconds of `count` single calls, after a tenth as many uncounted ones.
template <class Work>
void time_each(std::vector<double>& times, std::size_t count, Work&& work) {
  for (std::size_t i = 0; i < count / 10; ++i) work();
  for (std::size_t i = 0; i < count; ++i) times.push_back(time_once(work));
}

}  // namespace bench
