// SPDX-License-Identifier: Apache-2.0
// capture_test.cpp - capture: forks and joins, calls that invalidate a capture, and streams that
// are destroyed during one.
#include "embedded/graph/graph_fixture.hpp"

#include <thread>

#include "embedded/model/capture/capture.hpp"

namespace weir::embedded {
namespace {

class Capture : public memory_test {
 protected:
  void SetUp() override {
    memory_test::SetUp();
    for (CUevent& e : events)
      ASSERT_EQ(driver.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  }
  void TearDown() override {
    for (const CUevent e : events) EXPECT_EQ(driver.cuEventDestroy_v2(e), CUDA_SUCCESS);
    EXPECT_EQ(model::detail::active_captures, 0);
    memory_test::TearDown();
  }

  static void begin(CUstream s, CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) {
    EXPECT_EQ(driver.cuStreamBeginCapture_v2(s, mode), CUDA_SUCCESS);
  }
  static CUresult end(CUstream s, CUgraph& out) { return driver.cuStreamEndCapture(s, &out); }
  static CUresult end_for_nothing(CUstream s) {
    CUgraph none = nullptr;
    const CUresult status = driver.cuStreamEndCapture(s, &none);
    EXPECT_EQ(none, nullptr);
    return status;
  }
  static CUstreamCaptureStatus status(CUstream s) {
    CUstreamCaptureStatus now{};
    EXPECT_EQ(driver.cuStreamIsCapturing(s, &now), CUDA_SUCCESS);
    return now;
  }
  static void set(CUstream s, const test_words& words, std::size_t i) {
    EXPECT_EQ(driver.cuMemsetD32Async(words.at(i), 1, 1, s), CUDA_SUCCESS);
  }
  // Makes `to` wait for the work captured in `from` so far.
  void link(CUstream from, CUstream to, std::size_t by) const {
    EXPECT_EQ(driver.cuEventRecord(events[by], from), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(to, events[by], 0), CUDA_SUCCESS);
  }

  CUevent events[2]{};
};

// Programs built for CUDA 11.3 to 12.2 call the form without edge data.
TEST_F(Capture, TheOlderCallSetsDependencies) {
  test_stream s;
  test_words words{2};
  begin(s);
  set(s, words, 0);
  EXPECT_EQ(
      driver.cuStreamUpdateCaptureDependencies(s, nullptr, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES),
      CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamUpdateCaptureDependencies(s, nullptr, 0, 7), CUDA_ERROR_INVALID_VALUE);
  set(s, words, 1);
  CUgraph made = nullptr;
  ASSERT_EQ(end(s, made), CUDA_SUCCESS);
  std::size_t roots = 0;
  EXPECT_EQ(driver.cuGraphGetRootNodes(made, nullptr, &roots), CUDA_SUCCESS);
  EXPECT_EQ(roots, 2u);
  EXPECT_EQ(driver.cuGraphDestroy(made), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamUpdateCaptureDependencies(s, nullptr, 0, 0), CUDA_ERROR_ILLEGAL_STATE);
}

// Nothing runs before the launch; the launch runs every captured operation.
TEST_F(Capture, AForkAndAJoinMakeADiamond) {
  test_stream s;
  test_stream t;
  test_words words{4};
  begin(s);
  set(s, words, 0);
  link(s, t, 0);
  EXPECT_EQ(status(t), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  set(s, words, 1);
  set(t, words, 2);
  link(t, s, 1);
  set(s, words, 3);
  CUgraph made = nullptr;
  ASSERT_EQ(end(s, made), CUDA_SUCCESS);
  const test_graph g{made};
  EXPECT_EQ(g.edges(), "0>1 0>2 1>3 2>3");
  EXPECT_EQ(status(t), CU_STREAM_CAPTURE_STATUS_NONE);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(words[i], 0u);
  const test_exec run{g};
  run.launch(t);
  t.synchronize();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(words[i], 1u);
}

// An unjoined fork invalidates the graph; the streams stay usable.
TEST_F(Capture, AnUnjoinedForkIsAnError) {
  test_stream s;
  test_stream t;
  test_words words{1};
  begin(s);
  link(s, t, 0);
  set(t, words, 0);
  EXPECT_EQ(end_for_nothing(s), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  set(t, words, 0);
  t.synchronize();
  EXPECT_EQ(words[0], 1u);
}

// A call that is not permitted invalidates the capture in all its streams. Ending the capture
// reports the error and makes the streams usable again.
TEST_F(Capture, AQueryBreaksACapture) {
  test_stream s;
  test_stream t;
  begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
  link(s, t, 0);
  EXPECT_EQ(driver.cuStreamQuery(t), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(status(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  EXPECT_EQ(driver.cuEventRecord(events[1], s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(end_for_nothing(t), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(end_for_nothing(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(driver.cuStreamQuery(t), CUDA_SUCCESS);
}

// An unsafe call of another thread invalidates a global capture, but not a thread-local one.
TEST_F(Capture, TheModeDecidesWhichThreadsMakeUnsafeCalls) {
  test_stream s;
  test_stream other;
  const auto query_elsewhere = [&] {
    CUresult answer{};
    std::thread{[&] { answer = driver.cuStreamQuery(other); }}.join();
    return answer;
  };
  begin(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(query_elsewhere(), CUDA_SUCCESS);
  EXPECT_EQ(status(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(driver.cuStreamQuery(other), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end_for_nothing(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(query_elsewhere(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  EXPECT_EQ(end_for_nothing(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

// A thread in relaxed mode may make any call that does not involve its own captures.
TEST_F(Capture, ARelaxedThreadMayMakeUnsafeCalls) {
  test_stream s;
  test_stream other;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  begin(s, CU_STREAM_CAPTURE_MODE_GLOBAL);
  ASSERT_EQ(driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(driver.cuStreamQuery(other), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuThreadExchangeStreamCaptureMode(&mode), CUDA_SUCCESS);
  CUgraph made = nullptr;
  ASSERT_EQ(end(s, made), CUDA_SUCCESS);
  EXPECT_EQ(test_graph{made}.size(), 0u);
}

// The host cannot query a captured event; recording it outside the capture makes it usable again.
TEST_F(Capture, ACapturedEventCannotBeQueried) {
  test_stream s;
  begin(s);
  ASSERT_EQ(driver.cuEventRecord(events[0], s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventQuery(events[0]), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(end_for_nothing(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(driver.cuEventSynchronize(events[0]), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(driver.cuEventRecord(events[0], s), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventSynchronize(events[0]), CUDA_SUCCESS);
}

// Destroying the origin stream ends the capture. A joined stream may be destroyed, but its work
// must still be joined.
TEST_F(Capture, StreamsMayEndDuringACapture) {
  test_words words{1};
  test_stream t;
  {
    test_stream s;
    begin(s);
    link(s, t, 0);
  }
  EXPECT_EQ(status(t), CU_STREAM_CAPTURE_STATUS_NONE);
  {
    test_stream joined;
    begin(t);
    link(t, joined, 0);
    set(joined, words, 0);
  }
  EXPECT_EQ(end_for_nothing(t), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
}

// The end of a thread destroys its default stream, and with it the capture that began there.
TEST_F(Capture, AThreadMayEndDuringACapture) {
  const CUcontext context = current_context();
  std::thread{[&] {
    ASSERT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    begin(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }}.join();
  EXPECT_EQ(driver.cuEventQuery(events[0]), CUDA_SUCCESS);
}

// Work submitted while another thread ends the capture is either captured or run.
TEST_F(Capture, WorkIsEitherCapturedOrRun) {
  test_stream s;
  test_words words{1};
  constexpr int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    words.clear();
    begin(s, CU_STREAM_CAPTURE_MODE_RELAXED);
    CUgraph made = nullptr;
    std::thread ends{[&] { EXPECT_EQ(end(s, made), CUDA_SUCCESS); }};
    set(s, words, 0);
    ends.join();
    const test_graph g{made};
    s.synchronize();
    EXPECT_EQ(g.size() + words[0], 1u);
  }
}

}  // namespace
}  // namespace weir::embedded
