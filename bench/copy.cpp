// SPDX-License-Identifier: Apache-2.0
// copy.cpp - the cost of queueing a copy through weir, compared with the driver's own call.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <cstdint>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 1000;
constexpr int batch = 64;

// Copies four bytes, so that the call is measured, not the copy.
double measure() {
  const weir::device device;
  const weir::stream stream{device};
  weir::pinned_buffer<std::uint32_t> host{1, device};
  weir::buffer<std::uint32_t> there{stream, 1};
  const auto to = reinterpret_cast<CUdeviceptr>(there.data());
  const auto from = reinterpret_cast<CUdeviceptr>(host.data());
  host[0] = 1;
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i)
          ok(table.cuMemcpyAsync(to, from, sizeof(std::uint32_t), stream.get()));
      },
      [&] {
        for (int i = 0; i < batch; ++i) weir::copy(stream, host, there);
      },
      [&] { stream.sync(); });
}

const registration copy{{.name = "copy",
                         .unit = "x the raw call",
                         .budget = 1.02,
                         .budget_on = driver_filter::gpu,
                         .measure = measure}};

}  // namespace
}  // namespace bench
