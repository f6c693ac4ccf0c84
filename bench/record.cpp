// SPDX-License-Identifier: Apache-2.0
// record.cpp - the cost of recording an event through weir, compared with the driver's own call.
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
  const weir::stream stream{device};
  const weir::event event{device};
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) ok(table.cuEventRecord(event.get(), stream.get()));
      },
      [&] {
        for (int i = 0; i < batch; ++i) stream.record(event);
      },
      [&] { stream.sync(); });
}

const registration record{{.name = "record",
                           .unit = "x the raw call",
                           .budget = 1.02,
                           .budget_on = driver_filter::gpu,
                           .measure = measure}};

}  // namespace
}  // namespace bench
