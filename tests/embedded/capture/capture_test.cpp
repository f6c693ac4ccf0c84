// capture_test.cpp - capture: forks and joins, what breaks a capture and what does not, and streams
// that end in one.
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
  // Lets `to` go on behind `from`.
  void link(CUstream from, CUstream to, std::size_t by) const {
    EXPECT_EQ(driver.cuEventRecord(events[by], from), CUDA_SUCCESS);
    EXPECT_EQ(driver.cuStreamWaitEvent(to, events[by], 0), CUDA_SUCCESS);
  }

  CUevent events[2]{};
};

// Programs of CUDA 11.3 to 12.2 call the form without data of edges.
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

// A fork and a join make a diamond; nothing runs before the launch, and everything in it.
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

// A stream that was not joined back costs the graph, not the streams.
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

// What a capture may not do breaks it, in every stream of it; its end says so, and everything is
// usable again.
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

// Another thread's unsafe call breaks a capture begun global, not one begun for its own thread.
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

// A thread in relaxed mode may do what it likes beside its own captures.
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

// A captured event is none to the host; recorded again outside, it is one.
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

// The stream that a capture began in ends, and the capture with it; one that joined ends, and its
// work must still be joined.
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

// A thread ends, and with it its own default stream and the capture that began there.
TEST_F(Capture, AThreadMayEndDuringACapture) {
  const CUcontext context = current_context();
  std::thread{[&] {
    ASSERT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
    begin(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL);
  }}.join();
  EXPECT_EQ(driver.cuEventQuery(events[0]), CUDA_SUCCESS);
}

// Work that was captured while another thread ended the capture is not lost: it runs.
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
