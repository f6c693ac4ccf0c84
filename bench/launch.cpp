// SPDX-License-Identifier: Apache-2.0
// launch.cpp - the cost of a launch through weir, including its checks, compared with the driver's
// own call; and the time to get a kernel that was compiled before.
#include "harness/figure.hpp"
#include "harness/raw.hpp"
#include "harness/timing.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <weir/kernel/launch.hpp>
#include <weir/kernel/program.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/stream/stream.hpp>

#include <unistd.h>

namespace bench {
namespace {

constexpr std::size_t rounds = 300;
constexpr int batch = 64;

constexpr const char* source = R"(
extern "C" __global__ void touch(float* x, const float* y, float by, int n) {
  if (n < 0) x[0] = by * y[0];
}
)";

double measure_launch() {
  const weir::device device;
  const weir::stream stream{device};
  const weir::kernel touch = weir::program{source}.compile(device).kernel("touch");
  weir::buffer<float> x{stream, 100};
  weir::buffer<float> y{stream, 100};
  const auto& table = raw();
  const weir::launch_config config{.grid = {1}, .block = {32}};
  return ratio(
      rounds,
      [&] {
        for (int i = 0; i < batch; ++i) {
          float* to = x.data();
          const float* from = y.data();
          float by = 2.0f;
          void* values[] = {&to, &from, &by, &i};
          ok(table.cuLaunchKernel(touch.get(), 1, 1, 1, 32, 1, 1, 0, stream.get(), values,
                                  nullptr));
        }
      },
      [&] {
        for (int i = 0; i < batch; ++i)
          weir::launch(stream, config, touch, weir::inout(x), weir::in(y), 2.0f, i);
      },
      [&] { stream.sync(); });
}

const registration launch{{.name = "launch",
                           .unit = "x the raw call",
                           .budget = 1.02,
                           .budget_on = driver_filter::gpu,
                           .measure = measure_launch}};

// A private folder, so that the first compilation misses the cache.
class temporary_cache {
 public:
  temporary_cache() {
    const char* const set = std::getenv("WEIR_CACHE");
    if (set != nullptr) before_ = set;
    folder_ = std::filesystem::temp_directory_path() / ("weir-bench-" + std::to_string(::getpid()));
    ::setenv("WEIR_CACHE", folder_.c_str(), 1);
  }
  temporary_cache(const temporary_cache&) = delete;
  temporary_cache& operator=(const temporary_cache&) = delete;
  ~temporary_cache() {
    before_.empty() ? ::unsetenv("WEIR_CACHE") : ::setenv("WEIR_CACHE", before_.c_str(), 1);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 private:
  std::filesystem::path folder_;
  std::string before_;
};

template <class Work>
double milliseconds(const Work& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>{std::chrono::steady_clock::now() - start}
      .count();
}

double measure_first_compile() {
  const temporary_cache empty;
  const weir::device device;
  return milliseconds([&] { static_cast<void>(weir::program{source}.image_for(device)); });
}

double measure_from_cache() {
  const temporary_cache empty;
  const weir::device device;
  static_cast<void>(weir::program{source}.image_for(device));
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    best = std::min(
        best, milliseconds([&] { static_cast<void>(weir::program{source}.image_for(device)); }));
  }
  return best;
}

const registration first_compile{{.name = "first compile of a small kernel",
                                  .unit = "ms",
                                  .budget = 1500,
                                  .budget_on = driver_filter::embedded,
                                  .measure = measure_first_compile}};
const registration from_cache{{.name = "compile, found in the cache",
                               .unit = "ms",
                               .budget = 2,
                               .budget_on = driver_filter::any,
                               .measure = measure_from_cache}};

}  // namespace
}  // namespace bench
