// SPDX-License-Identifier: Apache-2.0
// completion_capture_test.cpp - completions of capturing streams, and captures that completions
// must not break.
#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <future>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using namespace std::chrono_literals;
using test::await;
using test::gate;
using test::result_of;

class CompletionCapture : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionCapture, ::testing::Values(false, true),
                         test::name_of_mode);

// Rule 85.
TEST_P(CompletionCapture, ACompletionOfACapturingStreamIsRefused) {
  begin_capture(s);
  EXPECT_EQ(result_of([&] { static_cast<void>(s.completion()); }),
            errc::stream_capture_unsupported);
  const graph none = end_capture(s);
  EXPECT_EQ(none.nodes().size(), 0U);
}

TEST_P(CompletionCapture, ACompletionIsRefusedWhenTheCaptureIsForeign) {
  const test::foreign_capture capture{s};
  EXPECT_EQ(result_of([&] { static_cast<void>(s.completion()); }),
            errc::stream_capture_unsupported);
}

// Querying a driver for a stream's id would break its capture, but weir has to identify a foreign
// stream.
TEST_P(CompletionCapture, ACompletionOfACapturingForeignStreamIsRefusedAndTheCaptureContinues) {
  CUstream_st* const handle = s.release();
  const stream_ref r{handle};
  begin_capture(r);
  EXPECT_EQ(result_of([&] { static_cast<void>(r.completion()); }),
            errc::stream_capture_unsupported);
  EXPECT_EQ(end_capture(r).nodes().size(), 0U);
  EXPECT_EQ(detail::driver().cuStreamDestroy_v2(handle), abi::CUDA_SUCCESS);
}

TEST_P(CompletionCapture, ACompletionOfABrokenCaptureIsRefusedAsInvalidated) {
  begin_capture(s);
  static_cast<void>(detail::driver().cuStreamSynchronize(s.get()));  // breaks the capture
  EXPECT_EQ(result_of([&] { static_cast<void>(s.completion()); }),
            errc::stream_capture_invalidated);
  EXPECT_THROW(static_cast<void>(end_capture(s)), error);
}

// The legacy stream waits for blocking streams, which is impossible while one of them captures. The
// capture stays valid.
TEST_P(CompletionCapture, ACompletionOfTheLegacyStreamIsRefusedWhileABlockingStreamCaptures) {
  const auto current = gpu.primary_context();
  detail::driver().cuCtxSetCurrent(current.get());
  CUstream_st* blocking = nullptr;
  ASSERT_EQ(detail::driver().cuStreamCreate(&blocking, abi::CU_STREAM_DEFAULT), abi::CUDA_SUCCESS);
  {
    test::foreign_capture capture{stream_ref{blocking}};
    EXPECT_EQ(result_of([&] { static_cast<void>(stream_ref::legacy().completion()); }),
              errc::stream_capture_implicit);
    EXPECT_TRUE(capture.end());
  }
  EXPECT_EQ(detail::driver().cuStreamDestroy_v2(blocking), abi::CUDA_SUCCESS);
}

TEST_P(CompletionCapture, AwaitingACompletionBreaksNoCaptureOfAnotherStream) {
  stream t{gpu};
  gate held{t};
  const completion c = t.completion();
  std::promise<errc> answer;
  begin_capture(s, capture_options{.mode = capture_mode::global});
  await(c, answer);
  EXPECT_FALSE(c.done());
  EXPECT_FALSE(c.wait_for(1ms));
  held.open();
  c.wait();
  EXPECT_EQ(answer.get_future().get(), errc::success);
  static_cast<void>(end_capture(s));
}

// On a GPU the event is polled, and polling a captured event would break the capture.
TEST_P(CompletionCapture, AnAwaitedEventIsNotRecordedInACapture) {
  event e{gpu};
  stream t{gpu};
  gate held{s};
  s.record(e);
  const completion c = e.completion();
  std::promise<errc> answer;
  std::future<errc> told = answer.get_future();
  await(c, answer);
  begin_capture(t);
  const errc recorded = result_of([&] { t.record(e); });
  if (GetParam()) {
    EXPECT_EQ(recorded, errc::illegal_state);
  }
  static_cast<void>(end_capture(t));
  held.open();
  EXPECT_EQ(told.get(), errc::success);
}

}  // namespace
}  // namespace weir
