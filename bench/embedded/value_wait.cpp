// SPDX-License-Identifier: Apache-2.0
// embedded/value_wait.cpp - the time until a stream of the embedded driver continues after another
// writes the value it waits for.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstdint>

namespace bench {
namespace {

constexpr int batches = 200;
constexpr unsigned rounds = 500;
constexpr unsigned handovers = 2 * rounds;

// Words on separate cache lines.
class words {
 public:
  words() {
    ok(raw().cuMemsetD8_v2(memory_, 0, bytes));
    ok(raw().cuCtxSynchronize());
  }
  [[nodiscard]] CUdeviceptr operator[](unsigned i) const { return memory_ + 64 * i; }

 private:
  static constexpr std::size_t bytes = 192;
  raw_memory memory_{bytes};
};

// Alternating writes and waits, queued before any of them runs; measured from the first write until
// both streams are done. With two streams, each wait is for a value that the other stream has yet
// to write. With one stream, every value is written before the wait.
double write_and_wait(CUstream first, CUstream second) {
  const raw_stream starter;
  const words word;
  const auto& table = raw();
  std::uint32_t batch = 0;
  std::uint32_t value = 0;
  const auto enqueue = [&] {
    ++batch;
    ok(table.cuStreamWaitValue32_v2(first, word[0], batch, CU_STREAM_WAIT_VALUE_GEQ));
    for (unsigned i = 0; i < rounds; ++i) {
      ++value;
      ok(table.cuStreamWriteValue32_v2(first, word[1], value, 0));
      ok(table.cuStreamWaitValue32_v2(second, word[1], value, CU_STREAM_WAIT_VALUE_GEQ));
      ok(table.cuStreamWriteValue32_v2(second, word[2], value, 0));
      ok(table.cuStreamWaitValue32_v2(first, word[2], value, CU_STREAM_WAIT_VALUE_GEQ));
    }
  };
  enqueue();
  const double each = fastest(
      batches, handovers,
      [&] {
        ok(table.cuStreamWriteValue32_v2(starter, word[0], batch, 0));
        ok(table.cuStreamSynchronize(first));
        ok(table.cuStreamSynchronize(second));
      },
      enqueue);
  ok(table.cuStreamWriteValue32_v2(starter, word[0], batch, 0));
  ok(table.cuStreamSynchronize(first));
  ok(table.cuStreamSynchronize(second));
  return each;
}

double measure() {
  const raw_stream first;
  const raw_stream second;
  const double in_one = write_and_wait(first, first);
  return write_and_wait(first, second) - in_one;
}

const registration value_wait{{.name = "embedded/value_wait",
                               .unit = "ns added by a wait",
                               .budget = 150,
                               .runs_on = driver_filter::embedded,
                               .measure = measure}};

}  // namespace
}  // namespace bench
