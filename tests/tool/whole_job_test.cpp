// SPDX-License-Identifier: Apache-2.0
// The whole job, queued and replayed: every byte comes back in order, for all files, chunks and
// numbers of streams.
#include "stage/whole_job.hpp"

#include "failure.hpp"
#include "sample.hpp"
#include "support/fault_table.hpp"

#include <gmock/gmock.h>

#include <cstddef>
#include <vector>
#include <weir/core/error.hpp>

namespace weir::tool {
namespace {

using detail::driver_table;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t chunk_bytes = 1000;

plan plan_for(const sample& of, int streams, int in_flight) {
  plan p;
  p.chunk_bytes = chunk_bytes;
  p.streams = streams;
  p.in_flight = in_flight;
  return p.fitted_to(of.bytes().size());
}

whole_result run(const sample& of, const plan& plan, std::vector<std::byte>* back = nullptr) {
  const input_file file{of.path()};
  return run_whole_job(file, plan, [&](std::span<const std::byte> returned) {
    if (back != nullptr) back->insert(back->end(), returned.begin(), returned.end());
  });
}

class WholeJob : public testing::TestWithParam<int> {};

TEST_P(WholeJob, EveryByteComesBackQueuedAndReplayed) {
  const int streams = GetParam();
  for (const std::size_t size : {1, 999, 1000, 1001, 3000, 11'999, 20'000, 33'017}) {
    const sample file{size};
    for (const int in_flight : {1, 2, 3, 7, 8}) {
      const plan queued = plan_for(file, streams, in_flight);
      for (const plan& p : {queued, queued.with_graph()}) {
        std::vector<std::byte> back;
        const whole_result result = run(file, p, &back);
        ASSERT_TRUE(result.verified()) << size << ", " << in_flight;
        ASSERT_EQ(result.file_crc, file.crc()) << size << ", " << in_flight;
        ASSERT_TRUE(back == file.bytes()) << size << ", " << in_flight;
        ASSERT_EQ(result.replay.launches, p.rounds(size));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, WholeJob, testing::Values(1, 2, 3, 4, 8),
                         testing::PrintToStringParamName{});

// Two executables alternate between two rounds of slots, and one of them was captured for its own
// slots.
TEST(WholeJobGraph, OneCaptureIsRetargetedToAllSlotsAndLaunchedOncePerRound) {
  detail::fault_table calls;
  const sample file{100 * chunk_bytes};
  const whole_result result = run(file, plan_for(file, 4, 8).with_graph());
  EXPECT_EQ(result.replay.launches, 23u);
  EXPECT_EQ(result.replay.changes, 4u * 4);
  EXPECT_EQ(calls.count(&driver_table::cuGraphInstantiateWithParams), 2);
  EXPECT_EQ(calls.count(&driver_table::cuGraphLaunch), 23);
  EXPECT_EQ(calls.count(&driver_table::cuStreamBeginCapture_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuGraphExecUpdate_v2), 0);
  // The first attempt names kinds of memory, which captured copies refuse.
  EXPECT_EQ(calls.count(&driver_table::cuGraphExecMemcpyNodeSetParams), 2 * 3 * 4);
  EXPECT_EQ(calls.count(&driver_table::cuGraphExecHostNodeSetParams), 4);
}

TEST(WholeJobGraph, AFileWithoutRoundsNeedsNoGraph) {
  detail::fault_table calls;
  const sample file{11 * chunk_bytes};
  EXPECT_EQ(run(file, plan_for(file, 4, 8).with_graph()).replay.launches, 0u);
  EXPECT_EQ(calls.count(&driver_table::cuGraphInstantiateWithParams), 0);
}

TEST(WholeJobGraph, AGraphThatCannotBeCreatedSuggestsRunningWithoutOne) {
  const sample file{30 * chunk_bytes};
  const plan p = plan_for(file, 4, 8).with_graph();
  detail::fault_table faults;
  const auto expected_message =
      AllOf(HasSubstr("without --graph it needs none"), HasSubstr("NOT_SUPPORTED"));
  faults.fail(&driver_table::cuGraphInstantiateWithParams, 2, abi::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT([&] { static_cast<void>(run(file, p)); }, ThrowsMessage<failure>(expected_message));
  faults.fail(&driver_table::cuGraphExecMemcpyNodeSetParams, 1, abi::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT([&] { static_cast<void>(run(file, p)); }, ThrowsMessage<failure>(expected_message));
  faults.fail(&driver_table::cuStreamBeginCapture_v2, 1, abi::CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT([&] { static_cast<void>(run(file, p)); }, ThrowsMessage<failure>(expected_message));
  EXPECT_TRUE(run(file, p).verified());
}

TEST(WholeJobGraph, AFailedLaunchEndsOnlyItsOwnJob) {
  const sample file{30 * chunk_bytes};
  const plan p = plan_for(file, 4, 8).with_graph();
  detail::fault_table faults;
  faults.fail(&driver_table::cuGraphLaunch, 3, abi::CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_THROW(static_cast<void>(run(file, p)), error);
  EXPECT_TRUE(run(file, p).verified());
}

}  // namespace
}  // namespace weir::tool
