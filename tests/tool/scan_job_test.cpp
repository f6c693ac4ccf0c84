// The job of `weir scan`: the same findings in every way, what it queues, and what comes of calls that fail.
#include "scan/job.hpp"

#include "support/fault_table.hpp"
#include "failure.hpp"
#include "sample.hpp"
#include "scan/crew.hpp"
#include "scan/on_host.hpp"

#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <weir/core/error.hpp>

namespace weir::tool::scan {
namespace {

using detail::driver_table;

constexpr std::size_t chunk_bytes = 1000;

const kernels& code() {
  static const kernels compiled{device{}};
  return compiled;
}

plan plan_for(const sample& of, int streams, int in_flight, int readers) {
  return plan{.chunk_bytes = chunk_bytes, .streams = streams, .in_flight = in_flight, .readers = readers}.fitted_to(
      of.bytes().size());
}

const watcher nobody = [](std::size_t) {};

TEST(ScanJob, FindsWhatTheHostFindsInEveryWay) {
  for (const std::size_t size : {1, 999, 1000, 1001, 3000, 20'000, 33'017}) {
    const sample data{size};
    const input_file file{data.path()};
    for (const auto& [streams, in_flight, readers] : {std::array{1, 1, 1}, {2, 5, 2}, {4, 8, 3}, {3, 8, 8}}) {
      const plan p = plan_for(data, streams, in_flight, readers);
      const findings expected = scan_on_host(file, p).found;
      ASSERT_EQ(expected.crc, data.crc());
      job j{file, code(), p};
      for (const way how : {way::queued, way::replayed, way::queued}) {
        EXPECT_EQ(j.run(how, nobody).found, expected) << size << ", " << in_flight;
      }
    }
  }
}

TEST(ScanJob, WatcherHearsOfEveryByteOnce) {
  const sample data{20'017};
  const input_file file{data.path()};
  std::atomic<std::size_t> heard = 0;
  job j{file, code(), plan_for(data, 4, 8, 2)};
  static_cast<void>(j.run(way::queued, [&](std::size_t bytes) { heard += bytes; }));
  EXPECT_EQ(heard, 20'017u);
}

TEST(ScanJob, PartsAloneAndInMemory) {
  const sample data{20'017};
  const input_file file{data.path()};
  job j{file, code(), plan_for(data, 4, 8, 2)};
  EXPECT_GT(j.run_in_memory(way::queued, {}, 100), 0);
  for (const way how : {way::queued, way::replayed}) {
    detail::failing_table calls;
    EXPECT_GT(j.run_in_memory(how, {.copies = false}, 100), 0);
    const int launches = calls.count(&driver_table::cuLaunchKernel);
    EXPECT_EQ(launches, 2 * (how == way::queued ? 100 : 8));
    EXPECT_GT(j.run_in_memory(how, {.kernels = false}, 100), 0);
    EXPECT_EQ(calls.count(&driver_table::cuLaunchKernel), launches);
  }
  // A run over the file leaves other chunks there; what is expected of them is known anew.
  EXPECT_EQ(j.run(way::queued, nobody).found.crc, data.crc());
  EXPECT_GT(j.run_in_memory(way::replayed, {}, 100), 0);
}

// Each slot has its own; the chunk that is shorter is queued.
TEST(ScanJob, ReplaysOneLaunchAFullChunk) {
  const sample data{20'017};
  const input_file file{data.path()};
  job j{file, code(), plan_for(data, 4, 8, 2)};
  detail::failing_table calls;
  static_cast<void>(j.run(way::replayed, nobody));
  EXPECT_EQ(calls.count(&driver_table::cuGraphInstantiateWithParams), 8);
  EXPECT_EQ(calls.count(&driver_table::cuGraphLaunch), 20);
  EXPECT_EQ(calls.count(&driver_table::cuLaunchKernel), 8 * 2 + 2);  // captured, and for the last chunk
}

// Of functions that weir's own thread does not call for the jobs before.
TEST(ScanJob, ACallThatFailsEndsItAndHarmsNoOther) {
  const sample data{30'000};
  const input_file file{data.path()};
  const plan p = plan_for(data, 3, 8, 2);
  const findings expected = scan_on_host(file, p).found;
  {
    detail::failing_table faults;
    const auto expect_failure = [&](auto function, way how) {
      for (const int nth : {1, 2, 3}) {
        faults.fail(function, nth, abi::CUDA_ERROR_UNKNOWN);
        EXPECT_THROW(static_cast<void>(job{file, code(), p}.run(how, nobody)), error) << nth;
      }
    };
    expect_failure(&driver_table::cuStreamCreateWithPriority, way::queued);
    expect_failure(&driver_table::cuMemAllocAsync, way::queued);
    expect_failure(&driver_table::cuMemHostAlloc, way::queued);
    expect_failure(&driver_table::cuLaunchKernel, way::queued);
    expect_failure(&driver_table::cuStreamBeginCapture_v2, way::replayed);
    expect_failure(&driver_table::cuGraphInstantiateWithParams, way::replayed);
    expect_failure(&driver_table::cuGraphLaunch, way::replayed);
  }
  job j{file, code(), p};
  EXPECT_EQ(j.run(way::replayed, nobody).found, expected);
}

TEST(ScanJob, AFileThatShrinksIsTold) {
  sample data{30'000};
  const input_file file{data.path()};
  job j{file, code(), plan_for(data, 4, 8, 3)};
  data.shrink(12'345);
  EXPECT_THAT([&] { static_cast<void>(j.run(way::queued, nobody)); },
              testing::ThrowsMessage<failure>(testing::HasSubstr("truncated while it was read")));
}

TEST(ScanCrew, EveryOneWorksOnce) {
  std::array<std::atomic<int>, 9> calls{};
  run_crew(9, [&](int i) { ++calls[static_cast<std::size_t>(i)]; });
  for (const auto& each : calls) EXPECT_EQ(each, 1);
}

TEST(ScanCrew, WhatOneThrowsComesOutWhenAllHaveEnded) {
  for (const int thrower : {0, 2}) {
    std::atomic<int> ended = 0;
    const auto work = [&](int i) {
      if (i == thrower) throw failure{"no more"};
      ++ended;
    };
    EXPECT_THROW(run_crew(5, work), failure);
    EXPECT_EQ(ended, 4);
  }
}

TEST(ScanFindings, Entropy) {
  histogram counts{};
  counts[7] = 5;
  EXPECT_EQ(entropy_of(counts), 0);
  counts[8] = 5;
  EXPECT_DOUBLE_EQ(entropy_of(counts), 1);
  counts.fill(3);
  EXPECT_DOUBLE_EQ(entropy_of(counts), 8);
}

}  // namespace
}  // namespace weir::tool::scan
