// SPDX-License-Identifier: Apache-2.0
// embedded/record_wait.cpp - the cost of ordering one stream after another on the embedded driver.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

namespace bench {
namespace {

constexpr int batches = 200;
constexpr int batch = 2000;

// Each stream waits for the other in turn, so no wait is redundant. Measures until both are done.
double measure() {
  const raw_stream first;
  const raw_stream second;
  const raw_event event;
  const auto& table = raw();
  return fastest(batches, batch, [&] {
    for (int i = 0; i < batch / 2; ++i) {
      ok(table.cuEventRecord(event, first));
      ok(table.cuStreamWaitEvent(second, event, 0));
      ok(table.cuEventRecord(event, second));
      ok(table.cuStreamWaitEvent(first, event, 0));
    }
    first.sync();
    second.sync();
  });
}

const registration record_wait{{.name = "embedded/record_wait",
                                .unit = "ns a pair",
                                .budget = 60,
                                .runs_on = driver_filter::embedded,
                                .measure = measure}};

}  // namespace
}  // namespace bench
