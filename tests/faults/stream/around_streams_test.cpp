// SPDX-License-Identifier: Apache-2.0
// around_streams_test.cpp - attributes and timers with failing driver calls.
#include <weir/device/green_context.hpp>
#include <weir/event/timer.hpp>
#include <weir/stream/stream_attributes.hpp>

#include <gtest/gtest.h>

#include "faults/every_call.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::driver_table;
using test::every_call_may_fail;
using test::failure_of;
using test::fault_table;
using test::gate;
using test::result_of;
using test::unhandled_errors;

class StreamFeatureFaults : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

TEST_F(StreamFeatureFaults, StreamAttributesReportEachFailedCall) {
  const stream t{gpu};
  const stream_attributes of_s{s};
  every_call_may_fail([&] { static_cast<void>(of_s.sync_policy()); });
  every_call_may_fail([&] { static_cast<void>(of_s.access_window()); });
  every_call_may_fail([&] { static_cast<void>(of_s.sync_domain()); });
  every_call_may_fail([&] { static_cast<void>(of_s.sync_domain_map()); });
  every_call_may_fail([&] { of_s.set_priority(0); });
  every_call_may_fail([&] { of_s.set_sync_policy(sync_policy::spin); });
  every_call_may_fail([&] { of_s.copy_from(t); });
}

TEST_F(StreamFeatureFaults, SeveralAttributesAreRestoredAfterAFailure) {
  const int greatest = gpu.priorities().greatest;
  every_call_may_fail([&] {
    stream_attributes{s}.set({.priority = greatest, .sync_policy = sync_policy::block});
    stream_attributes{s}.set({.priority = 0, .sync_policy = sync_policy::spin});
  });
  stream_attributes{s}.set_priority(0);
  fault_table faults;
  faults.fail(&driver_table::cuStreamSetAttribute, 2, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  EXPECT_EQ(result_of([&] {
              stream_attributes{s}.set({.priority = greatest, .sync_policy = sync_policy::block});
            }),
            errc::system_not_ready);
  EXPECT_EQ(stream_attributes{s}.priority(), 0);
  EXPECT_EQ(s.priority(), 0);
}

// Whichever call fails.
TEST_F(StreamFeatureFaults, StreamAttributesAreSetCompletelyOrNotAtAll) {
  const stream_attributes of_s{s};
  const stream_settings before{.priority = 0,
                               .sync_policy = sync_policy::spin,
                               .access_window = access_window{},
                               .sync_domain = sync_domain::standard,
                               .sync_domain_map = sync_domain_map{0, 1}};
  const stream_settings wanted{.priority = gpu.priorities().greatest,
                               .sync_policy = sync_policy::block,
                               .access_window = access_window{.bytes = 4096, .hit_ratio = 0.5f},
                               .sync_domain = sync_domain::remote,
                               .sync_domain_map = sync_domain_map{1, 0}};
  const auto set = [&](int nth, auto function) {
    fault_table faults;
    faults.fail(function, nth, abi::CUDA_ERROR_OUT_OF_MEMORY);
    const auto failure = failure_of([&] { of_s.set(wanted); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::out_of_memory);
    EXPECT_NE(failure->object().find(", attribute "), std::string::npos) << failure->what();
    EXPECT_TRUE(failure->attached().empty());
  };
  of_s.set(before);
  for (int nth = 1; nth <= 5; ++nth) {
    for (const bool getting : {true, false}) {
      SCOPED_TRACE(testing::Message()
                   << "call " << nth << " of " << (getting ? "the getter" : "the setter"));
      if (getting) {
        set(nth, &driver_table::cuStreamGetAttribute);
      } else {
        set(nth, &driver_table::cuStreamSetAttribute);
      }
      EXPECT_EQ(of_s.priority(), before.priority);
      EXPECT_EQ(s.priority(), before.priority);
      EXPECT_EQ(of_s.sync_policy(), before.sync_policy);
      EXPECT_EQ(of_s.access_window(), before.access_window);
      EXPECT_EQ(of_s.sync_domain(), before.sync_domain);
      EXPECT_EQ(of_s.sync_domain_map(), before.sync_domain_map);
    }
  }
}

// The error of the restoration is attached to the first error, and weir reports the priority that
// the stream really has.
TEST_F(StreamFeatureFaults, AFailureToRestoreAnAttributeIsAttached) {
  const int greatest = gpu.priorities().greatest;
  const unhandled_errors unhandled;
  fault_table faults;
  faults.fail_from(&driver_table::cuStreamSetAttribute, 3, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  const auto failure = failure_of([&] {
    stream_attributes{s}.set({.priority = greatest,
                              .sync_policy = sync_policy::block,
                              .sync_domain = sync_domain::remote});
  });
  ASSERT_TRUE(failure);
  ASSERT_EQ(failure->attached().size(), 2u);
  EXPECT_STREQ(failure->attached()[0].call(), "cuStreamSetAttribute");
  EXPECT_EQ(unhandled.count(), 0u);
  EXPECT_EQ(s.priority(), greatest);
  EXPECT_EQ(stream_attributes{s}.priority(), greatest);
}

TEST_F(StreamFeatureFaults, CreatingAStreamWithAttributesReportsEachFailedCall) {
  every_call_may_fail([&] { return make_stream(gpu, {}, {.sync_policy = sync_policy::block}); });
}

TEST_F(StreamFeatureFaults, TimingWorkReportsEachFailedCall) {
  every_call_may_fail([&] {
    timings times;
    timer t{times, "a", s};
    t.stop();
    times.sync();
    static_cast<void>(times.find("a"));
    return times;
  });
}

// The timers of a new context find no unused event, so they create one.
TEST_F(StreamFeatureFaults, ATimerReportsAFailedEventCreation) {
  timings times;
  const green_context other{sm_resource::query(gpu)};
  const stream in_other{other};
  fault_table faults;
  faults.fail(&driver_table::cuEventCreate, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  const auto failure = failure_of([&] { const timer t{times, "a", in_other}; });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::system_not_ready);
  EXPECT_STREQ(failure->call(), "cuEventCreate");
}

// If the end of a section cannot be recorded, the error reaches the handler and the section is
// dropped.
TEST_F(StreamFeatureFaults, AFailedTimerStopReachesTheErrorHandlerAndDropsTheSection) {
  const unhandled_errors unhandled;
  timings times;
  { const timer good{times, "a", s}; }
  fault_table faults;
  {
    const timer t{times, "a", s};
    faults.fail(&driver_table::cuEventRecord, 1, abi::CUDA_ERROR_SYSTEM_NOT_READY);
  }
  ASSERT_EQ(unhandled.errors().size(), 1u);
  EXPECT_EQ(unhandled.errors()[0].result(), errc::system_not_ready);
  times.sync();
  EXPECT_EQ(times.find("a")->count, 1u);
}

// A query throws the error of the section's work once.
TEST_F(StreamFeatureFaults, AFailedTimedSectionIsReportedOnceByAQuery) {
  timings times;
  { const timer t{times, "a", s}; }
  s.sync();
  fault_table faults;
  faults.fail(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
  const auto failure = failure_of([&] { static_cast<void>(times.all()); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::launch_failed);
  EXPECT_EQ(times.find("a")->pending, 0u);
  EXPECT_EQ(times.find("a")->count, 0u);
}

// A wait throws the error once and drops the section. The next wait covers the other sections.
TEST_F(StreamFeatureFaults, AFailedTimedSectionIsReportedOnceByAWait) {
  timings times;
  {
    const test::gate held{s};  // otherwise section b might already count a
    { const timer t{times, "a", s}; }
    { const timer t{times, "b", s}; }
  }
  s.sync();
  {
    fault_table faults;
    faults.fail(&driver_table::cuEventSynchronize, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
    faults.fail(&driver_table::cuEventQuery, 1, abi::CUDA_ERROR_LAUNCH_FAILED);
    EXPECT_EQ(result_of([&] { times.sync(); }), errc::launch_failed);
  }
  times.sync();
  EXPECT_EQ(times.find("a")->count, 0u);
  EXPECT_EQ(times.find("a")->pending, 0u);
  EXPECT_EQ(times.find("b")->count, 1u);
}

// If the wait itself is refused, the section is kept.
TEST_F(StreamFeatureFaults, ATimedSectionIsKeptIfItsWaitIsRefused) {
  timings times;
  gate held{s};
  { const timer t{times, "a", s}; }
  {
    fault_table faults;
    faults.fail(&driver_table::cuEventSynchronize, 1, abi::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    EXPECT_EQ(result_of([&] { times.sync(); }), errc::stream_capture_unsupported);
  }
  EXPECT_EQ(times.find("a")->pending, 1u);
  held.open();
  times.sync();
  EXPECT_EQ(times.find("a")->count, 1u);
}

}  // namespace
}  // namespace weir
