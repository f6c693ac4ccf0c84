// SPDX-License-Identifier: Apache-2.0
// embedded/host_function.cpp - the embedded driver's time to queue and run a host function, in
// bursts.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <atomic>

namespace bench {
namespace {

constexpr int batches = 200;
constexpr int burst = 1000;

void count_call(void* calls) {
  static_cast<std::atomic<int>*>(calls)->fetch_add(1, std::memory_order_relaxed);
}

double measure() {
  const raw_stream stream;
  std::atomic<int> calls{0};
  const auto& table = raw();
  const double each = fastest(batches, burst, [&] {
    for (int i = 0; i < burst; ++i) ok(table.cuLaunchHostFunc(stream, count_call, &calls));
    stream.sync();
  });
  if (calls.load() != batches * burst) throw std::runtime_error{"a host function did not run once"};
  return each;
}

const registration host_function{{.name = "embedded/host_function",
                                  .unit = "ns a function",
                                  .budget = 200,
                                  .runs_on = driver_filter::embedded,
                                  .measure = measure}};

}  // namespace
}  // namespace bench
