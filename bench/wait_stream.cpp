// SPDX-License-Identifier: Apache-2.0
// wait_stream.cpp - the cost of stream.wait(stream), compared with a record and a wait with a
// reused event.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 1000;
constexpr int batch = 128;

double measure() {
  const weir::device device;
  const weir::stream first{device};
  const weir::stream second{device};
  const raw_event kept;
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) {
          ok(table.cuEventRecord(kept, first.get()));
          ok(table.cuStreamWaitEvent(second.get(), kept, 0));
        }
      },
      [&] {
        for (int i = 0; i < batch; ++i) second.wait(first);
      },
      [&] {
        first.sync();
        second.sync();
      });
}

const registration wait_stream{{.name = "wait_stream",
                                .unit = "x raw record + wait",
                                .budget = 1.02,
                                .budget_on = driver_filter::gpu,
                                .measure = measure}};

}  // namespace
}  // namespace bench
