// SPDX-License-Identifier: Apache-2.0
// query.cpp - the cost of querying a stream or an event through weir, compared with the driver's
// own calls.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <weir/event/event.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 1000;
constexpr int batch = 256;

// Uses the queries' results, so that none of them is optimized away.
void want_done(bool done) {
  if (!done) throw std::runtime_error{"an idle stream is not done"};
}

double measure_stream() {
  const weir::stream stream{weir::device{}};
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) ok(table.cuStreamQuery(stream.get()));
      },
      [&] {
        for (int i = 0; i < batch; ++i) want_done(stream.done());
      },
      [] {});
}

double measure_event() {
  const weir::stream stream{weir::device{}};
  const weir::event event = stream.record();
  stream.sync();
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) ok(table.cuEventQuery(event.get()));
      },
      [&] {
        for (int i = 0; i < batch; ++i) want_done(event.done());
      },
      [] {});
}

const registration stream_query{{.name = "query/stream",
                                 .unit = "x the raw call",
                                 .budget = 1.02,
                                 .budget_on = driver_filter::gpu,
                                 .measure = measure_stream}};
const registration event_query{{.name = "query/event",
                                .unit = "x the raw call",
                                .budget = 1.02,
                                .budget_on = driver_filter::gpu,
                                .measure = measure_event}};

}  // namespace
}  // namespace bench
