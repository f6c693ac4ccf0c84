// SPDX-License-Identifier: Apache-2.0
// embedded/kernel.cpp - the embedded driver's time to run kernels.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

namespace bench {
namespace {

// The kernels of the build's images (images/): the driver is measured, not the compiler of CUDA C++
// source.
class raw_kernel {
 public:
  explicit raw_kernel(const char* name) {
    std::ifstream file{WEIR_BENCH_KERNELS, std::ios::binary};
    if (!file) throw unavailable{"there is no " WEIR_BENCH_KERNELS};
    const std::string image{std::istreambuf_iterator{file}, {}};
    ok(raw().cuModuleLoadData(&module_, image.data()));
    ok(raw().cuModuleGetFunction(&function_, module_, name));
  }
  raw_kernel(const raw_kernel&) = delete;
  raw_kernel& operator=(const raw_kernel&) = delete;
  ~raw_kernel() { static_cast<void>(raw().cuModuleUnload(module_)); }

  void launch(unsigned grid, unsigned block, CUstream stream, void** params = nullptr) const {
    ok(raw().cuLaunchKernel(function_, grid, 1, 1, block, 1, 1, 0, stream, params, nullptr));
  }

 private:
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

// An empty kernel, many at a time.
double measure_empty() {
  constexpr int batch = 5000;
  const raw_kernel empty{"empty"};
  const raw_stream stream;
  return fastest(200, batch, [&] {
    for (int i = 0; i < batch; ++i) empty.launch(1, 1, stream);
    stream.sync();
  });
}

// An empty kernel with three arguments, awaited each time.
double measure_round_trip() {
  constexpr int batch = 1000;
  const raw_kernel empty{"empty"};
  const raw_stream stream;
  return fastest(100, batch, [&] {
    for (int i = 0; i < batch; ++i) {
      empty.launch(1, 1, stream);
      stream.sync();
    }
  });
}

// Blocks of 256 threads with 100 barriers.
double measure_barrier() {
  constexpr unsigned threads = 256;
  unsigned times = 100;
  const raw_kernel meet{"meet"};
  const raw_stream stream;
  void* params[] = {&times};
  return fastest(50, static_cast<int>(threads * times), [&] {
    meet.launch(1, threads, stream, params);
    stream.sync();
  });
}

// saxpy over 10 million floats, compared with a plain loop on an equal number of threads.
double measure_saxpy() {
  constexpr std::size_t count = 10'000'000;
  const raw_kernel saxpy{"saxpy"};
  const raw_stream stream;
  const raw_memory x{count * 4};
  const raw_memory y{count * 4};
  ok(raw().cuMemsetD32Async(x, 0x3f800000, count, stream));
  ok(raw().cuMemsetD32Async(y, 0, count, stream));
  stream.sync();
  unsigned n = count;
  float a = 2;
  CUdeviceptr from = x;
  CUdeviceptr to = y;
  void* params[] = {&n, &a, &from, &to};
  const auto by_kernel = [&] {
    saxpy.launch((count + 255) / 256, 256, stream, params);
    stream.sync();
  };
  const auto by_hand = [&] {
    const unsigned threads = std::max(std::thread::hardware_concurrency(), 1u);
    std::vector<std::jthread> all;
    for (unsigned i = 0; i < threads; ++i) {
      all.emplace_back([&, i] {
        const auto* const in = reinterpret_cast<const float*>(from);
        auto* const out = reinterpret_cast<float*>(to);
        const std::size_t last = count * (i + 1) / threads;
        for (std::size_t k = count * i / threads; k < last; ++k) out[k] = a * in[k] + out[k];
      });
    }
  };
  return ratio(30, by_kernel, by_hand, [] {});
}

const registration empty{{.name = "embedded/kernel_empty",
                          .unit = "ns an operation",
                          .budget = 120,
                          .runs_on = driver_filter::embedded,
                          .measure = measure_empty}};
const registration round_trip{{.name = "embedded/kernel_round_trip",
                               .unit = "ns",
                               .budget = 500,
                               .runs_on = driver_filter::embedded,
                               .measure = measure_round_trip}};
const registration barrier{{.name = "embedded/kernel_barrier",
                            .unit = "ns a thread and barrier",
                            .budget = 30,
                            .runs_on = driver_filter::embedded,
                            .measure = measure_barrier}};
const registration saxpy{{.name = "embedded/kernel_saxpy",
                          .unit = "x as fast as a loop",
                          .budget = 0.95,
                          .better = better::more,
                          .runs_on = driver_filter::embedded,
                          .measure = measure_saxpy}};

}  // namespace
}  // namespace bench
