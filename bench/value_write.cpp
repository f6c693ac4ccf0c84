// SPDX-License-Identifier: Apache-2.0
// value_write.cpp - the cost of value writes and waits through weir, compared with the driver's own
// calls.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <cstdint>
#include <weir/stream/stream.hpp>
#include <weir/sync/value_batch.hpp>
#include <weir/sync/value_wait.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 1000;
constexpr int batch = 128;

CUdeviceptr address_of(const weir::wait_word<std::uint32_t>& word) {
  return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(word.get()));
}

double measure_write() {
  const weir::stream stream{weir::device{}};
  const weir::wait_word<std::uint32_t> word;
  const CUdeviceptr address = address_of(word);
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i)
          ok(table.cuStreamWriteValue32_v2(stream.get(), address, 1, 0));
      },
      [&] {
        for (int i = 0; i < batch; ++i) weir::write_value(stream, word, 1);
      },
      [&] { stream.sync(); });
}

// Waits that do not block, so that only queueing is measured; alternating on two streams, as such a
// word is usually used.
double measure_wait() {
  const weir::stream first{weir::device{}};
  const weir::stream second{weir::device{}};
  const weir::wait_word<std::uint32_t> word{1};
  const CUdeviceptr address = address_of(word);
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch / 2; ++i) {
          ok(table.cuStreamWaitValue32_v2(first.get(), address, 1, CU_STREAM_WAIT_VALUE_GEQ));
          ok(table.cuStreamWaitValue32_v2(second.get(), address, 1, CU_STREAM_WAIT_VALUE_GEQ));
        }
      },
      [&] {
        for (int i = 0; i < batch / 2; ++i) {
          weir::wait_value(first, word, weir::until::geq, 1);
          weir::wait_value(second, word, weir::until::geq, 1);
        }
      },
      [&] {
        first.sync();
        second.sync();
      });
}

const registration write{{.name = "value_write",
                          .unit = "x the raw call",
                          .budget = 1.02,
                          .budget_on = driver_filter::gpu,
                          .measure = measure_write}};
const registration wait{{.name = "value_wait",
                         .unit = "x the raw call",
                         .budget = 1.02,
                         .budget_on = driver_filter::gpu,
                         .measure = measure_wait}};

}  // namespace
}  // namespace bench
