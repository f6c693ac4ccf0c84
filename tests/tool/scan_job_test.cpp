// SPDX-License-Identifier: Apache-2.0
// The job of `weir scan`: equal findings in every mode, what it queues, and how it handles failed
// calls.
#include "scan/job.hpp"

#include "failure.hpp"
#include "sample.hpp"
#include "scan/on_host.hpp"
#include "scan/run_on_threads.hpp"
#include "support/fault_table.hpp"

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
  return plan{
      .chunk_bytes = chunk_bytes, .streams = streams, .in_flight = in_flight, .readers = readers}
      .fitted_to(of.bytes().size());
}

const progress_callback no_progress = [](std::size_t) {};

TEST(ScanJob, TheDeviceFindsWhatTheHostFindsInEveryLaunchMode) {
  for (const std::size_t size : {1, 999, 1000, 1001, 3000, 20'000, 33'017}) {
    const sample data{size};
    const input_file file{data.path()};
    for (const auto& [streams, in_flight, readers] :
         {std::array{1, 1, 1}, {2, 5, 2}, {4, 8, 3}, {3, 8, 8}}) {
      const plan p = plan_for(data, streams, in_flight, readers);
      const findings expected = scan_on_host(file, p).found;
      ASSERT_EQ(expected.crc, data.crc());
      job j{file, code(), p};
      for (const launch_mode mode :
           {launch_mode::queued, launch_mode::replayed, launch_mode::queued}) {
        EXPECT_EQ(j.run(mode, no_progress).found, expected) << size << ", " << in_flight;
      }
    }
  }
}

TEST(ScanJob, ProgressCountsEveryByteOnce) {
  const sample data{20'017};
  const input_file file{data.path()};
  std::atomic<std::size_t> reported = 0;
  job j{file, code(), plan_for(data, 4, 8, 2)};
  static_cast<void>(j.run(launch_mode::queued, [&](std::size_t bytes) { reported += bytes; }));
  EXPECT_EQ(reported, 20'017u);
}

TEST(ScanJob, CopiesAndKernelsRunAloneInMemory) {
  const sample data{20'017};
  const input_file file{data.path()};
  job j{file, code(), plan_for(data, 4, 8, 2)};
  EXPECT_GT(j.run_in_memory(launch_mode::queued, {}, 100), 0);
  for (const launch_mode mode : {launch_mode::queued, launch_mode::replayed}) {
    detail::fault_table calls;
    EXPECT_GT(j.run_in_memory(mode, {.copies = false}, 100), 0);
    const int launches = calls.count(&driver_table::cuLaunchKernel);
    EXPECT_EQ(launches, 2 * (mode == launch_mode::queued ? 100 : 8));
    EXPECT_GT(j.run_in_memory(mode, {.kernels = false}, 100), 0);
    EXPECT_EQ(calls.count(&driver_table::cuLaunchKernel), launches);
  }
  // A run over the file changes the chunks in memory; their expected findings are computed anew.
  EXPECT_EQ(j.run(launch_mode::queued, no_progress).found.crc, data.crc());
  EXPECT_GT(j.run_in_memory(launch_mode::replayed, {}, 100), 0);
}

// Each slot has its own graph; the last, shorter chunk is queued.
TEST(ScanJob, EachFullChunkIsOneGraphLaunch) {
  const sample data{20'017};
  const input_file file{data.path()};
  job j{file, code(), plan_for(data, 4, 8, 2)};
  detail::fault_table calls;
  static_cast<void>(j.run(launch_mode::replayed, no_progress));
  EXPECT_EQ(calls.count(&driver_table::cuGraphInstantiateWithParams), 8);
  EXPECT_EQ(calls.count(&driver_table::cuGraphLaunch), 20);
  EXPECT_EQ(calls.count(&driver_table::cuLaunchKernel),
            8 * 2 + 2);  // captured, plus the last chunk
}

// Fails functions that the reclaimer thread does not call for earlier jobs.
TEST(ScanJob, AFailedCallEndsOnlyItsOwnJob) {
  const sample data{30'000};
  const input_file file{data.path()};
  const plan p = plan_for(data, 3, 8, 2);
  const findings expected = scan_on_host(file, p).found;
  {
    detail::fault_table faults;
    const auto expect_failure = [&](auto function, launch_mode mode) {
      for (const int nth : {1, 2, 3}) {
        faults.fail(function, nth, abi::CUDA_ERROR_UNKNOWN);
        EXPECT_THROW(static_cast<void>(job{file, code(), p}.run(mode, no_progress)), error) << nth;
      }
    };
    expect_failure(&driver_table::cuStreamCreateWithPriority, launch_mode::queued);
    expect_failure(&driver_table::cuMemAllocAsync, launch_mode::queued);
    expect_failure(&driver_table::cuMemHostAlloc, launch_mode::queued);
    expect_failure(&driver_table::cuLaunchKernel, launch_mode::queued);
    expect_failure(&driver_table::cuStreamBeginCapture_v2, launch_mode::replayed);
    expect_failure(&driver_table::cuGraphInstantiateWithParams, launch_mode::replayed);
    expect_failure(&driver_table::cuGraphLaunch, launch_mode::replayed);
  }
  job j{file, code(), p};
  EXPECT_EQ(j.run(launch_mode::replayed, no_progress).found, expected);
}

TEST(ScanJob, AShrinkingFileIsReported) {
  sample data{30'000};
  const input_file file{data.path()};
  job j{file, code(), plan_for(data, 4, 8, 3)};
  data.shrink(12'345);
  EXPECT_THAT([&] { static_cast<void>(j.run(launch_mode::queued, no_progress)); },
              testing::ThrowsMessage<failure>(testing::HasSubstr("truncated while it was read")));
}

TEST(RunOnThreads, EveryThreadRunsOnce) {
  std::array<std::atomic<int>, 9> calls{};
  run_on_threads(9, [&](int i) { ++calls[static_cast<std::size_t>(i)]; });
  for (const auto& each : calls) EXPECT_EQ(each, 1);
}

TEST(RunOnThreads, AnExceptionIsRethrownAfterAllThreadsEnd) {
  for (const int thrower : {0, 2}) {
    std::atomic<int> ended = 0;
    const auto work = [&](int i) {
      if (i == thrower) throw failure{"no more"};
      ++ended;
    };
    EXPECT_THROW(run_on_threads(5, work), failure);
    EXPECT_EQ(ended, 4);
  }
}

TEST(ScanFindings, EntropyOfKnownDistributions) {
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
