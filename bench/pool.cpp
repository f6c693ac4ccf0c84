// pool.cpp - what does memory of a pool in stream order cost through weir, beside the driver's own
// calls?
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

// Of a pool that keeps what is freed, so that the device's memory is not part of it.
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
