// SPDX-License-Identifier: Apache-2.0
// embedded/round_trip.cpp - the time from queueing an operation on the embedded driver to noticing
// its end.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <vector>

namespace bench {
namespace {

constexpr int trips = 20000;

double measure() {
  const raw_stream stream;
  const raw_memory word{4};
  const auto& table = raw();
  std::vector<double> times;
  time_each(times, trips, [&] {
    ok(table.cuMemsetD32Async(word, 1, 1, stream));
    stream.sync();
  });
  return median(times) / 1000;
}

const registration round_trip{{.name = "embedded/round_trip",
                               .unit = "us, median",
                               .budget = 0.5,
                               .runs_on = driver_filter::embedded,
                               .measure = measure}};

}  // namespace
}  // namespace bench
