// The job of `weir scan`: the same findings in every way, what it queues, and what comes of calls that fail.
#include "scan/job.hpp"

#include "driver/failing.hpp"
#include "failure.hpp"
#include "sample.hpp"
#include "scan/on_host.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <cstddef>
#include <weir/error.hpp>

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
  for (const way how : {way::queued, way::replayed}) {
    detail::failing_table calls;
    EXPECT_GT(j.run_in_memory(how, {}, 100), 0);
    EXPECT_GT(j.run_in_memory(how, {.copies = false}, 100), 0);
    const int launches = calls.count(&driver_table::cuLaunchKernel);
    EXPECT_GT(j.run_in_memory(how, {.kernels = false}, 100), 0);
    // No more than those of the chunks that were put into memory first.
    EXPECT_EQ(calls.count(&driver_table::cuLaunchKernel) - launches, 8 * 2);
  }
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

TEST(ScanJob, ACallThatFailsEndsItAndHarmsNoOther) {
  const sample data{30'000};
  const input_file file{data.path()};
  const plan p = plan_for(data, 3, 8, 2);
  const findings expected = scan_on_host(file, p).found;
  const auto expect_failure = [&](way how) {
    job j{file, code(), p};
    EXPECT_THROW(static_cast<void>(j.run(how, nobody)), error);
  };
  {
    detail::failing_table faults;
    faults.fail(&driver_table::cuLaunchKernel, 7, abi::CUDA_ERROR_LAUNCH_FAILED);
    expect_failure(way::queued);
    faults.fail(&driver_table::cuEventSynchronize, 3, abi::CUDA_ERROR_LAUNCH_FAILED);
    expect_failure(way::queued);
    faults.fail(&driver_table::cuStreamBeginCapture_v2, 2, abi::CUDA_ERROR_NOT_SUPPORTED);
    expect_failure(way::replayed);
    faults.fail(&driver_table::cuGraphLaunch, 5, abi::CUDA_ERROR_LAUNCH_FAILED);
    expect_failure(way::replayed);
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
