// SPDX-License-Identifier: Apache-2.0
// wait.cpp - the cost of making a stream wait for an event through weir, compared with the driver's
// own call.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 1000;
constexpr int batch = 128;

double measure() {
  const weir::device device;
  const weir::stream first{device};
  const weir::stream second{device};
  const weir::event event{device};
  first.record(event);
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) ok(table.cuStreamWaitEvent(second.get(), event.get(), 0));
      },
      [&] {
        for (int i = 0; i < batch; ++i) second.wait(event);
      },
      [&] { second.sync(); });
}

const registration wait{{.name = "wait",
                         .unit = "x the raw call",
                         .budget = 1.02,
                         .budget_on = driver_filter::gpu,
                         .measure = measure}};

}  // namespace
}  // namespace bench
