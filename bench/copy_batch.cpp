// SPDX-License-Identifier: Apache-2.0
// copy_batch.cpp - the cost of queueing a batch of copies through weir, compared with the driver's
// own call.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <array>
#include <cstddef>
#include <span>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 1000;
constexpr int batch = 16;
constexpr std::size_t copies = 16;
constexpr std::size_t bytes = 4096;

// Pieces of two buffers, one set of options for all.
double measure() {
  const weir::device device;
  const weir::stream stream{device};
  const weir::buffer<std::byte> from{stream, copies * bytes};
  weir::buffer<std::byte> to{stream, copies * bytes};

  std::array<CUdeviceptr, copies> targets{}, sources{};
  std::array<std::size_t, copies> sizes{};
  weir::copy_batch all;
  for (std::size_t i = 0; i < copies; ++i) {
    targets[i] = reinterpret_cast<CUdeviceptr>(to.data() + i * bytes);
    sources[i] = reinterpret_cast<CUdeviceptr>(from.data() + i * bytes);
    sizes[i] = bytes;
    all.add(std::span{from.data() + i * bytes, bytes}, std::span{to.data() + i * bytes, bytes});
  }
  CUmemcpyAttributes attributes{};
  attributes.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  std::size_t first = 0;

  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) {
          ok(table.cuMemcpyBatchAsync_v2(targets.data(), sources.data(), sizes.data(), copies,
                                         &attributes, &first, 1, stream.get()));
        }
      },
      [&] {
        for (int i = 0; i < batch; ++i) all.enqueue(stream);
      },
      [&] { stream.sync(); });
}

const registration copy_batch{{.name = "copy_batch",
                               .unit = "x the raw call",
                               .budget = 1.02,
                               .budget_on = driver_filter::gpu,
                               .measure = measure}};

}  // namespace
}  // namespace bench
