// SPDX-License-Identifier: Apache-2.0
// embedded/copy.cpp - the cost of a copy between device memory on the embedded driver, small and
// large.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace bench {
namespace {

double measure_small() {
  constexpr int batches = 200;
  constexpr int batch = 2000;
  constexpr std::size_t bytes = 4096;
  const raw_stream stream;
  const raw_memory from{bytes};
  const raw_memory to{bytes};
  const auto& table = raw();
  return fastest(batches, batch, [&] {
    for (int i = 0; i < batch; ++i) ok(table.cuMemcpyDtoDAsync_v2(to, from, bytes, stream));
    stream.sync();
  });
}

// Compares the program's memcpy of that memory, on its own thread, with the stream's copy on the
// one thread that runs it.
double measure_large() {
  constexpr int turns = 5;
  constexpr std::size_t bytes = std::size_t{1} << 30;
  const raw_stream stream;
  const raw_memory from{bytes};
  const raw_memory to{bytes};
  const auto& table = raw();
  ok(table.cuMemsetD8Async(from, 1, bytes, stream));
  ok(table.cuMemsetD8Async(to, 2, bytes, stream));
  stream.sync();
  double plain = std::numeric_limits<double>::infinity();
  double ours = plain;
  for (int i = 0; i < turns; ++i) {
    plain = std::min(plain, time_once([&] {
                       std::memcpy(reinterpret_cast<void*>(CUdeviceptr{to}),
                                   reinterpret_cast<const void*>(CUdeviceptr{from}), bytes);
                     }));
    ours = std::min(ours, time_once([&] {
                      ok(table.cuMemcpyDtoDAsync_v2(to, from, bytes, stream));
                      stream.sync();
                    }));
  }
  return plain / ours;
}

const registration small{{.name = "embedded/copy_4k",
                          .unit = "ns a copy",
                          .budget = 150,
                          .runs_on = driver_filter::embedded,
                          .measure = measure_small}};

const registration large{{.name = "embedded/copy_1g",
                          .unit = "x the speed of memcpy",
                          .budget = 0.9,
                          .better = better::more,
                          .runs_on = driver_filter::embedded,
                          .measure = measure_large}};

}  // namespace
}  // namespace bench
