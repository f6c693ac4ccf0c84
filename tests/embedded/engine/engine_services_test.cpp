// SPDX-License-Identifier: Apache-2.0
// engine_services_test.cpp - notifications to a program in the same process: the end point of a
// stream's work, and its completion.
#include "embedded/services.hpp"

#include <atomic>
#include <cstddef>
#include <latch>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "embedded/engine/waiting.hpp"
#include "embedded/memory/memory_fixture.hpp"
#include "support/fresh_process.hpp"

namespace weir::embedded {
namespace {

using detail::engine_callback;
using detail::engine_services;
using detail::timeline_point;
using detail::work_context;

// Counts notifications, and whether its point was complete at each.
struct notice_counter : engine_callback {
  notice_counter() {
    reached = [](engine_callback& self) noexcept {
      auto& counter = static_cast<notice_counter&>(self);
      if (!services().reached(counter.of)) ++counter.delivered_early;
      ++counter.delivered;
    };
  }
  void wait_for(int expected) const {
    while (delivered != expected) std::this_thread::yield();
  }

  timeline_point of;
  std::atomic<int> delivered{0};
  std::atomic<int> delivered_early{0};
};

class EngineServices : public memory_test {
 protected:
  timeline_point end_of_stream(CUstream stream) const {
    timeline_point end;
    work_context home;
    EXPECT_EQ(engine.end_of_stream(stream, end, home), CUDA_SUCCESS);
    EXPECT_EQ(engine.context_status(home), CUDA_SUCCESS);
    return end;
  }
  [[nodiscard]] CUresult status_of(CUstream stream) const {
    timeline_point end;
    work_context home;
    return engine.end_of_stream(stream, end, home);
  }
  void wait(const timeline_point& target_point) const {
    while (!engine.wait_spinning(target_point)) std::this_thread::yield();
  }
  [[nodiscard]] bool notify_at(notice_counter& notice, const timeline_point& point) const {
    notice.of = point;
    return engine.notify_at(point, notice);
  }

  const engine_services& engine = services();
};

TEST_F(EngineServices, AnEndOfWorkIsReachedAfterTheEarlierWork) {
  const test_stream s;
  EXPECT_TRUE(engine.reached(end_of_stream(s)));
  stream_gate first{s};
  const timeline_point end = end_of_stream(s);
  EXPECT_FALSE(engine.reached(end));
  first.open();
  stream_gate second{s};
  wait(end);
  EXPECT_TRUE(engine.reached(end));
  EXPECT_FALSE(engine.reached(end_of_stream(s)));
}

TEST_F(EngineServices, DefaultStreamsHaveAnEndOfWork) {
  for (const CUstream s :
       {static_cast<CUstream>(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    stream_gate h{s};
    const timeline_point end = end_of_stream(s);
    EXPECT_FALSE(engine.reached(end));
    h.open();
    wait(end);
    EXPECT_TRUE(engine.reached(end));
  }
}

// A requested notification arrives even if the stream is destroyed.
TEST_F(EngineServices, AnEndOfWorkOutlivesItsStream) {
  notice_counter notice;
  std::optional<test_stream> s{std::in_place};
  stream_gate h{*s};
  ASSERT_TRUE(notify_at(notice, end_of_stream(*s)));
  s.reset();
  EXPECT_EQ(notice.delivered, 0);
  h.open();
  notice.wait_for(1);
}

TEST_F(EngineServices, ACaptureIsRefusedAndStaysValid) {
  const test_stream s;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(status_of(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
  std::size_t nodes = 1;
  EXPECT_EQ(driver.cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 0U);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(EngineServices, ABrokenCaptureIsReportedAsInvalidated) {
  const test_stream s;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_NE(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(status_of(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph none = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(s, &none), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

// The legacy stream waits for blocking streams, which is impossible while one of them captures. The
// query itself does not invalidate a capture.
TEST_F(EngineServices, TheLegacyStreamHasNoEndPointDuringABlockingCapture) {
  CUstream blocking = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(status_of(CU_STREAM_LEGACY), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(blocking, &graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamDestroy_v2(blocking), CUDA_SUCCESS);
}

TEST_F(EngineServices, AnInvalidStreamIsRefused) {
  CUstream gone = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamDestroy_v2(gone), CUDA_SUCCESS);
  const CUresult as_record = driver.cuEventRecord(nullptr, gone);
  EXPECT_NE(as_record, CUDA_SUCCESS);
  EXPECT_EQ(status_of(gone), as_record);
}

TEST_F(EngineServices, AnEventEndsWithItsLastRecord) {
  const test_stream s;
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  timeline_point end;
  work_context home;
  ASSERT_EQ(engine.end_of_event(event, end, home), CUDA_SUCCESS);
  EXPECT_TRUE(engine.reached(end));
  stream_gate first{s};
  ASSERT_EQ(driver.cuEventRecord(event, s), CUDA_SUCCESS);
  timeline_point before;
  ASSERT_EQ(engine.end_of_event(event, before, home), CUDA_SUCCESS);
  stream_gate second{s};
  ASSERT_EQ(driver.cuEventRecord(event, s), CUDA_SUCCESS);
  ASSERT_EQ(engine.end_of_event(event, end, home), CUDA_SUCCESS);
  EXPECT_EQ(engine.context_status(home), CUDA_SUCCESS);
  first.open();
  wait(before);
  EXPECT_FALSE(engine.reached(end));
  ASSERT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
  second.open();
  wait(end);
  EXPECT_NE(engine.end_of_event(event, end, home), CUDA_SUCCESS);
}

// Another process may record the event, so it has to be queried.
TEST_F(EngineServices, AnInterprocessEventHasNoEndOfWork) {
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS),
            CUDA_SUCCESS);
  timeline_point end;
  work_context home;
  EXPECT_EQ(engine.end_of_event(event, end, home), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

TEST_F(EngineServices, ANoticeIsDeliveredOnce) {
  const test_stream s;
  notice_counter notice;
  stream_gate first{s};
  ASSERT_TRUE(notify_at(notice, end_of_stream(s)));
  stream_gate second{s};
  EXPECT_EQ(notice.delivered, 0);
  first.open();
  notice.wait_for(1);
  EXPECT_FALSE(engine.cancel_notification(notice.of, notice));
  second.open();
  s.synchronize();
  EXPECT_EQ(notice.delivered, 1);
  EXPECT_EQ(notice.delivered_early, 0);
}

TEST_F(EngineServices, AReachedPointDeliversNoNotice) {
  const test_stream s;
  notice_counter notice;
  EXPECT_FALSE(notify_at(notice, end_of_stream(s)));
  stream_gate h{s};
  h.open();
  const timeline_point end = end_of_stream(s);
  wait(end);
  EXPECT_FALSE(notify_at(notice, end));
  EXPECT_FALSE(engine.cancel_notification(end, notice));
  EXPECT_EQ(notice.delivered, 0);
}

TEST_F(EngineServices, ACancelledNoticeIsNotDelivered) {
  const test_stream s;
  notice_counter cancelled;
  notice_counter pending;
  stream_gate h{s};
  const timeline_point end = end_of_stream(s);
  ASSERT_TRUE(notify_at(cancelled, end));
  ASSERT_TRUE(notify_at(pending, end));
  EXPECT_TRUE(engine.cancel_notification(end, cancelled));
  EXPECT_FALSE(engine.cancel_notification(end, cancelled));
  h.open();
  pending.wait_for(1);
  s.synchronize();
  EXPECT_EQ(cancelled.delivered, 0);
}

// There are more notifications than the engine delivers at a time; each is delivered after its own
// point is reached.
TEST_F(EngineServices, ManyNoticesAreDeliveredAndNoneTooEarly) {
  constexpr std::size_t points = 20;
  constexpr std::size_t each = 20;
  const test_stream s;
  std::vector<notice_counter> all(points * each);
  std::vector<std::unique_ptr<stream_gate>> gates;
  for (std::size_t i = 0; i < points; ++i) {
    gates.push_back(std::make_unique<stream_gate>(s));
    const timeline_point end = end_of_stream(s);
    for (std::size_t k = 0; k < each; ++k) ASSERT_TRUE(notify_at(all[k * points + i], end));
  }
  for (std::size_t i = 0; i < points; ++i) {
    gates[i]->open();
    for (std::size_t k = 0; k < each; ++k) all[k * points + i].wait_for(1);
    if (i + 1 < points) {
      EXPECT_EQ(all[i + 1].delivered, 0);
    }
  }
  for (const notice_counter& notice : all) EXPECT_EQ(notice.delivered_early, 0);
}

// A callback may register its own notice again.
TEST_F(EngineServices, ACallbackMayReuseItsNotice) {
  struct chained : engine_callback {
    timeline_point next;
    std::atomic<int> delivered{0};
  };
  const test_stream s;
  chained notice;
  notice.reached = [](engine_callback& self) noexcept {
    auto& counter = static_cast<chained&>(self);
    if (counter.delivered.fetch_add(1) == 0 && !services().notify_at(counter.next, counter))
      counter.delivered += 100;
  };
  stream_gate first{s};
  const timeline_point end = end_of_stream(s);
  stream_gate second{s};
  notice.next = end_of_stream(s);
  ASSERT_TRUE(engine.notify_at(end, notice));
  first.open();
  while (notice.delivered != 1) std::this_thread::yield();
  second.open();
  while (notice.delivered != 2) std::this_thread::yield();
}

// Either one canceling thread succeeds or the notice is delivered, never both.
TEST_F(EngineServices, CancellationAndDeliveryExcludeEachOther) {
  constexpr int rounds = 300;
  constexpr int threads = 3;
  const test_stream s;
  notice_counter notice;
  std::atomic<int> cancelled{0};
  std::atomic<int> begun{0};
  std::atomic<int> over{0};
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (int round = 1; round <= rounds; ++round) {
        while (begun < round) std::this_thread::yield();
        if (engine.cancel_notification(notice.of, notice)) ++cancelled;
        ++over;
      }
    });
  }
  for (int round = 1; round <= rounds; ++round) {
    stream_gate h{s};
    ASSERT_TRUE(notify_at(notice, end_of_stream(s)));
    if (round % 2 == 0) {
      begun = round;
      h.open();
    } else {
      h.open();
      begun = round;
    }
    while (over != threads * round || notice.delivered + cancelled != round)
      std::this_thread::yield();
  }
  EXPECT_EQ(notice.delivered_early, 0);
}

// A primary context that is activated again has a new health state.
TEST_F(EngineServices, HealthFollowsTheActivationOfTheContext) {
  test::in_a_fresh_process([] {
    const engine_services& offered = services();
    CUcontext context = nullptr;
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    timeline_point end;
    work_context home;
    offered.end_of_stream(nullptr, end, home);
    if (!WEIR_HOLDS(offered.context_status(home) == CUDA_SUCCESS)) return false;
    driver.cuDevicePrimaryCtxReset_v2(0);
    if (!WEIR_HOLDS(offered.context_status(home) == CUDA_ERROR_CONTEXT_IS_DESTROYED)) return false;
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    work_context now;
    offered.end_of_stream(nullptr, end, now);
    return WEIR_HOLDS(offered.context_status(home) == CUDA_ERROR_CONTEXT_IS_DESTROYED) &&
           WEIR_HOLDS(offered.context_status(now) == CUDA_SUCCESS);
  });
}

// A failure is reported after it is visible. Points that are still blocked are not reported before
// they are reached.
TEST_F(EngineServices, AFailureIsReportedOnce) {
  test::in_a_fresh_process([] {
    static std::atomic<int> delivered{0};
    static std::atomic<int> seen{0};
    const engine_services& offered = services();
    const auto count = +[]() noexcept {
      if (engine::device_failure() == CUDA_ERROR_ILLEGAL_ADDRESS) ++seen;
      ++delivered;
    };
    CUcontext context = nullptr;
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    timeline_point end;
    work_context home;
    offered.end_of_stream(nullptr, end, home);
    offered.on_failure(count);
    offered.on_failure(count);  // registers once more; one registration is enough
    engine::fail_device(CUDA_ERROR_ILLEGAL_ADDRESS);
    engine::fail_device(CUDA_ERROR_LAUNCH_FAILED);
    return WEIR_HOLDS(delivered == 1) && WEIR_HOLDS(seen == 1) &&
           WEIR_HOLDS(offered.context_status(home) == CUDA_ERROR_ILLEGAL_ADDRESS) &&
           WEIR_HOLDS(offered.end_of_stream(nullptr, end, home) == CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

// Work behind a failure does not run, but it completes, and its waiters are notified.
TEST_F(EngineServices, AFailedDeviceNotifiesItsWaiters) {
  test::in_a_fresh_process([] {
    const engine_services& offered = services();
    CUcontext context = nullptr;
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    CUstream s = nullptr;
    driver.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    stream_gate h{s};
    notice_counter notice;
    work_context home;
    offered.end_of_stream(s, notice.of, home);
    if (!WEIR_HOLDS(offered.notify_at(notice.of, notice))) return false;
    engine::fail_device(CUDA_ERROR_ILLEGAL_ADDRESS);
    h.open();
    notice.wait_for(1);
    std::_Exit(0);  // the failed device cannot be cleaned up
    return true;
  });
}

}  // namespace
}  // namespace weir::embedded
