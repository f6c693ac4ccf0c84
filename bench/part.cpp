// SPDX-License-Identifier: Apache-2.0
// part.cpp - the cost of operations that use a part of a buffer, or get only an address, compared
// with the driver's own calls; and the time to look up an address.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include "api/memory/memory_record.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::size_t rounds = 1000;
constexpr int batch = 64;

// A buffer, of which the operations use four bytes.
struct memory_on_stream {
  weir::device device;
  weir::stream stream{device};
  weir::pinned_buffer<std::uint32_t> host{100, device};
  weir::buffer<std::uint32_t> there{stream, 100};
};

template <class Copy>
double measure_copy(const Copy& copy) {
  memory_on_stream m;
  const auto to = reinterpret_cast<CUdeviceptr>(m.there.data() + 10);
  const auto from = reinterpret_cast<CUdeviceptr>(m.host.data() + 10);
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i)
          ok(table.cuMemcpyAsync(to, from, sizeof(std::uint32_t), m.stream.get()));
      },
      [&] {
        for (int i = 0; i < batch; ++i) copy(m);
      },
      [&] { m.stream.sync(); });
}

template <class Fill>
double measure_fill(const Fill& fill) {
  memory_on_stream m;
  const auto address = reinterpret_cast<CUdeviceptr>(m.there.data() + 10);
  const auto& table = raw();
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) ok(table.cuMemsetD32Async(address, 1, 1, m.stream.get()));
      },
      [&] {
        for (int i = 0; i < batch; ++i) fill(m);
      },
      [&] { m.stream.sync(); });
}

double measure_launch() {
  memory_on_stream m;
  const weir::kernel touch =
      weir::program{
          "extern \"C\" __global__ void touch(int* x, const int* y, int n) {\n"
          "  if (n < 0) x[0] = y[0];\n"
          "}\n"}
          .compile(m.device)
          .kernel("touch");
  auto* const x = reinterpret_cast<int*>(m.there.data());
  const int* const y = x + 50;
  const auto& table = raw();
  const weir::launch_config config{.grid = {1}, .block = {32}};
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) {
          int* to = x;
          const int* from = y;
          void* values[] = {&to, &from, &i};
          ok(table.cuLaunchKernel(touch.get(), 1, 1, 1, 32, 1, 1, 0, m.stream.get(), values,
                                  nullptr));
        }
      },
      [&] {
        for (int i = 0; i < batch; ++i) weir::launch(m.stream, config, touch, x, y, i);
      },
      [&] { m.stream.sync(); });
}

// Looks up an address among the addresses of 1000 buffers of different sizes.
template <class AddressOf>
double measure_lookup(const AddressOf& address_of) {
  const weir::device device;
  const weir::stream stream{device};
  std::vector<weir::buffer<std::byte>> buffers;
  for (std::size_t i = 0; i < 1000; ++i) buffers.emplace_back(stream, std::size_t{512} << (i % 10));
  std::size_t found = 0;
  constexpr std::size_t pieces = 100'000;
  const double time = fastest(20, pieces, [&] {
    for (std::size_t i = 0; i < pieces; ++i)
      found += weir::detail::find_allocation(address_of(buffers[i * 7 % 1000])) != nullptr;
  });
  if (found % pieces != 0) throw std::runtime_error{"some look-ups differ from the others"};
  return time;
}

figure of_call(const char* name, double (*measure)()) {
  return {.name = name,
          .unit = "x the raw call",
          .budget = 1.02,
          .budget_on = driver_filter::gpu,
          .measure = measure};
}

const registration copy_part{of_call("copy/part", [] {
  return measure_copy(
      [](memory_on_stream& m) { weir::copy(m.stream, m.host.part(10, 1), m.there.part(10, 1)); });
})};
const registration copy_span{of_call("copy/span", [] {
  return measure_copy([](memory_on_stream& m) {
    weir::copy(m.stream, m.host.data() + 10, m.there.data() + 10, 1);
  });
})};
const registration fill_part{of_call("fill/part", [] {
  return measure_fill([](memory_on_stream& m) { weir::fill(m.stream, m.there.part(10, 1), 1u); });
})};
const registration fill_span{of_call("fill/span", [] {
  return measure_fill([](memory_on_stream& m) {
    weir::fill(m.stream, std::span{m.there.data() + 10, 1}, 1u);
  });
})};
const registration launch_pointers{of_call("launch/pointers", measure_launch)};
const registration hit{{.name = "lookup/hit", .unit = "ns", .budget = 50, .measure = [] {
                          return measure_lookup([](const auto& x) { return x.data(); });
                        }}};
const registration miss{{.name = "lookup/miss", .unit = "ns", .budget = 50, .measure = [] {
                           return measure_lookup([](const auto& x) { return &x; });
                         }}};

}  // namespace
}  // namespace bench
