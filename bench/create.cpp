// SPDX-License-Identifier: Apache-2.0
// create.cpp - the cost of creating and destroying a stream through weir, compared with the
// driver's own calls.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 1000;
constexpr int batch = 32;

double measure() {
  const weir::device device;
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) {
          CUstream stream = nullptr;
          ok(table.cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, 0));
          ok(table.cuStreamDestroy_v2(stream));
        }
      },
      [&] {
        for (int i = 0; i < batch; ++i) weir::stream stream{device};
      },
      [] {});
}

const registration create{{.name = "create",
                           .unit = "x the raw calls",
                           .budget = 1.05,
                           .budget_on = driver_filter::gpu,
                           .measure = measure}};

}  // namespace
}  // namespace bench
