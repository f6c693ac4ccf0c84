// SPDX-License-Identifier: Apache-2.0
// embedded/set.cpp - the embedded driver's time to queue and run a small operation.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

namespace bench {
namespace {

constexpr int batches = 200;
constexpr int batch = 5000;

double measure() {
  const raw_stream stream;
  const raw_memory word{4};
  const auto& table = raw();
  return fastest(batches, batch, [&] {
    for (unsigned i = 0; i < batch; ++i) ok(table.cuMemsetD32Async(word, i, 1, stream));
    stream.sync();
  });
}

const registration set{{.name = "embedded/set",
                        .unit = "ns an operation",
                        .budget = 100,
                        .runs_on = driver_filter::embedded,
                        .measure = measure}};

}  // namespace
}  // namespace bench
