// SPDX-License-Identifier: Apache-2.0
// idle.cpp - the processor use of an idle program that has used weir.
#include "harness/figure.hpp"
#include "harness/timing.hpp"

#include <sys/resource.h>

#include <chrono>
#include <thread>
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

namespace bench {
namespace {

constexpr std::chrono::milliseconds settling{200};
constexpr std::chrono::seconds watched{1};

double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Returns percent of one processor over a second, with existing streams, memory and an idle driver.
double measure() {
  const weir::stream stream{weir::device{}};
  weir::buffer<int> memory{stream, 1000};
  weir::fill(stream, memory, 1);
  weir::launch_host(stream, [] {});
  stream.sync();
  std::this_thread::sleep_for(settling);
  const double before = processor_seconds();
  std::this_thread::sleep_for(watched);
  return (processor_seconds() - before) / std::chrono::duration<double>{watched}.count() * 100;
}

// 0.1 % is the cost of waking once to read the clock.
const registration idle{
    {.name = "idle", .unit = "% of a processor", .budget = 0.1, .measure = measure}};

}  // namespace
}  // namespace bench
