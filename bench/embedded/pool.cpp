// SPDX-License-Identifier: Apache-2.0
// embedded/pool.cpp - the cost of stream-ordered memory on the embedded driver.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

namespace bench {
namespace {

constexpr int batches = 200;
constexpr int batch = 2000;
constexpr std::size_t bytes = std::size_t{1} << 20;

// The pool keeps freed memory, as performance-critical programs configure it.
double measure() {
  const raw_stream stream;
  const auto& table = raw();
  CUmemoryPool pool = nullptr;
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  ok(table.cuMemPoolCreate(&pool, &props));
  cuuint64_t all = ~cuuint64_t{0};
  ok(table.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &all));
  const double each = fastest(batches, batch, [&] {
    for (int i = 0; i < batch; ++i) {
      CUdeviceptr block = 0;
      ok(table.cuMemAllocFromPoolAsync(&block, bytes, pool, stream));
      ok(table.cuMemFreeAsync(block, stream));
    }
    stream.sync();
  });
  ok(table.cuMemPoolDestroy(pool));
  return each;
}

const registration pool{{.name = "embedded/pool",
                         .unit = "ns a 1 MiB block",
                         .budget = 80,
                         .runs_on = driver_filter::embedded,
                         .measure = measure}};

}  // namespace
}  // namespace bench
