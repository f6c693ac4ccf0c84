// SPDX-License-Identifier: Apache-2.0
// pool.cpp - the cost of stream-ordered pool memory through weir, compared with the driver's own
// calls.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <weir/memory/memory_pool.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 1000;
constexpr int batch = 64;
constexpr std::size_t bytes = std::size_t{1} << 20;

// The pool keeps freed memory, so that device allocations are excluded.
double measure() {
  const weir::device device;
  const weir::stream stream{device};
  const weir::memory_pool pool{device, {.release_threshold = weir::keep_all}};
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) {
          CUdeviceptr block = 0;
          ok(table.cuMemAllocFromPoolAsync(&block, bytes, pool.get(), stream.get()));
          ok(table.cuMemFreeAsync(block, stream.get()));
        }
      },
      [&] {
        for (int i = 0; i < batch; ++i) pool.deallocate(stream, pool.allocate(stream, bytes));
      },
      [&] { stream.sync(); });
}

const registration pool{{.name = "pool",
                         .unit = "x the raw calls",
                         .budget = 1.02,
                         .budget_on = driver_filter::gpu,
                         .measure = measure}};

}  // namespace
}  // namespace bench
