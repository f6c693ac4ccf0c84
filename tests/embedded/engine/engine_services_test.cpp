// engine_services_test.cpp - what a program in the same process is told: where a stream's work ends, and when it has.
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
#include "support/child.hpp"

namespace weir::embedded {
namespace {

using detail::engine_notice;
using detail::engine_services;
using detail::work_home;
using detail::work_point;

// Counts how often it is told, and whether its point was reached then.
struct noting : engine_notice {
  noting() {
    reached = [](engine_notice& self) noexcept {
      auto& me = static_cast<noting&>(self);
      if (!services().reached(me.of)) ++me.told_early;
      ++me.told;
    };
  }
  void wait_for(int wanted) const {
    while (told != wanted) std::this_thread::yield();
  }

  work_point of;
  std::atomic<int> told{0};
  std::atomic<int> told_early{0};
};

class EngineServices : public memory_test {
 protected:
  work_point end_of(CUstream stream) const {
    work_point end;
    work_home home;
    EXPECT_EQ(engine.end_of(stream, end, home), CUDA_SUCCESS);
    EXPECT_EQ(engine.health(home), CUDA_SUCCESS);
    return end;
  }
  [[nodiscard]] CUresult answer_of(CUstream stream) const {
    work_point end;
    work_home home;
    return engine.end_of(stream, end, home);
  }
  void wait(const work_point& until) const {
    while (!engine.wait_awake(until)) std::this_thread::yield();
  }
  [[nodiscard]] bool tell(noting& who, const work_point& point) const {
    who.of = point;
    return engine.tell(point, who);
  }

  const engine_services& engine = services();
};

TEST_F(EngineServices, AnEndIsReachedWithTheWorkBefore) {
  const test_stream s;
  EXPECT_TRUE(engine.reached(end_of(s)));
  held first{s};
  const work_point end = end_of(s);
  EXPECT_FALSE(engine.reached(end));
  first.open();
  held second{s};
  wait(end);
  EXPECT_TRUE(engine.reached(end));
  EXPECT_FALSE(engine.reached(end_of(s)));
}

TEST_F(EngineServices, DefaultStreamsHaveEndsToo) {
  for (const CUstream s : {static_cast<CUstream>(nullptr), CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    held h{s};
    const work_point end = end_of(s);
    EXPECT_FALSE(engine.reached(end));
    h.open();
    wait(end);
    EXPECT_TRUE(engine.reached(end));
  }
}

// What was asked for is told of, whatever becomes of the stream.
TEST_F(EngineServices, AnEndOutlivesItsStream) {
  noting who;
  std::optional<test_stream> s{std::in_place};
  held h{*s};
  ASSERT_TRUE(tell(who, end_of(*s)));
  s.reset();
  EXPECT_EQ(who.told, 0);
  h.open();
  who.wait_for(1);
}

TEST_F(EngineServices, ACaptureIsRefusedAndLivesOn) {
  const test_stream s;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(answer_of(s), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph = nullptr;
  ASSERT_EQ(driver.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
  std::size_t nodes = 1;
  EXPECT_EQ(driver.cuGraphGetNodes(graph, nullptr, &nodes), CUDA_SUCCESS);
  EXPECT_EQ(nodes, 0U);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
}

TEST_F(EngineServices, ABrokenCaptureIsRefusedOtherwise) {
  const test_stream s;
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_NE(driver.cuStreamSynchronize(s), CUDA_SUCCESS);
  EXPECT_EQ(answer_of(s), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph none = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(s, &none), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

// The legacy stream waits for blocking ones, which cannot be while one captures. To be asked breaks no capture.
TEST_F(EngineServices, TheLegacyStreamIsRefusedBesideABlockingCapture) {
  CUstream blocking = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  EXPECT_EQ(answer_of(CU_STREAM_LEGACY), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CUgraph graph = nullptr;
  EXPECT_EQ(driver.cuStreamEndCapture(blocking, &graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuStreamDestroy_v2(blocking), CUDA_SUCCESS);
}

TEST_F(EngineServices, WhatIsNoStreamIsRefused) {
  CUstream gone = nullptr;
  ASSERT_EQ(driver.cuStreamCreate(&gone, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuStreamDestroy_v2(gone), CUDA_SUCCESS);
  const CUresult as_record = driver.cuEventRecord(nullptr, gone);
  EXPECT_NE(as_record, CUDA_SUCCESS);
  EXPECT_EQ(answer_of(gone), as_record);
}

TEST_F(EngineServices, AnEventsEndIsThatOfItsLastRecord) {
  const test_stream s;
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  work_point end;
  work_home home;
  ASSERT_EQ(engine.end_of_event(event, end, home), CUDA_SUCCESS);
  EXPECT_TRUE(engine.reached(end));
  held first{s};
  ASSERT_EQ(driver.cuEventRecord(event, s), CUDA_SUCCESS);
  work_point before;
  ASSERT_EQ(engine.end_of_event(event, before, home), CUDA_SUCCESS);
  held second{s};
  ASSERT_EQ(driver.cuEventRecord(event, s), CUDA_SUCCESS);
  ASSERT_EQ(engine.end_of_event(event, end, home), CUDA_SUCCESS);
  EXPECT_EQ(engine.health(home), CUDA_SUCCESS);
  first.open();
  wait(before);
  EXPECT_FALSE(engine.reached(end));
  ASSERT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
  second.open();
  wait(end);
  EXPECT_NE(engine.end_of_event(event, end, home), CUDA_SUCCESS);
}

// What another process may record is found out by asking.
TEST_F(EngineServices, AnEventOfSeveralProcessesHasNoEnd) {
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS), CUDA_SUCCESS);
  work_point end;
  work_home home;
  EXPECT_EQ(engine.end_of_event(event, end, home), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

TEST_F(EngineServices, ANoticeIsToldOnce) {
  const test_stream s;
  noting who;
  held first{s};
  ASSERT_TRUE(tell(who, end_of(s)));
  held second{s};
  EXPECT_EQ(who.told, 0);
  first.open();
  who.wait_for(1);
  EXPECT_FALSE(engine.untell(who.of, who));
  second.open();
  s.synchronize();
  EXPECT_EQ(who.told, 1);
  EXPECT_EQ(who.told_early, 0);
}

TEST_F(EngineServices, OfAPointThatIsReachedNobodyIsTold) {
  const test_stream s;
  noting who;
  EXPECT_FALSE(tell(who, end_of(s)));
  held h{s};
  h.open();
  const work_point end = end_of(s);
  wait(end);
  EXPECT_FALSE(tell(who, end));
  EXPECT_FALSE(engine.untell(end, who));
  EXPECT_EQ(who.told, 0);
}

TEST_F(EngineServices, OneThatIsTakenBackIsNotTold) {
  const test_stream s;
  noting taken;
  noting kept;
  held h{s};
  const work_point end = end_of(s);
  ASSERT_TRUE(tell(taken, end));
  ASSERT_TRUE(tell(kept, end));
  EXPECT_TRUE(engine.untell(end, taken));
  EXPECT_FALSE(engine.untell(end, taken));
  h.open();
  kept.wait_for(1);
  s.synchronize();
  EXPECT_EQ(taken.told, 0);
}

// More than the engine tells at a time; each when its own point is reached.
TEST_F(EngineServices, AnyNumberIsToldAndNoneTooEarly) {
  constexpr std::size_t points = 20;
  constexpr std::size_t each = 20;
  const test_stream s;
  std::vector<noting> all(points * each);
  std::vector<std::unique_ptr<held>> gates;
  for (std::size_t i = 0; i < points; ++i) {
    gates.push_back(std::make_unique<held>(s));
    const work_point end = end_of(s);
    for (std::size_t k = 0; k < each; ++k) ASSERT_TRUE(tell(all[k * points + i], end));
  }
  for (std::size_t i = 0; i < points; ++i) {
    gates[i]->open();
    for (std::size_t k = 0; k < each; ++k) all[k * points + i].wait_for(1);
    if (i + 1 < points) {
      EXPECT_EQ(all[i + 1].told, 0);
    }
  }
  for (const noting& who : all) EXPECT_EQ(who.told_early, 0);
}

// Whoever is told may have himself told of something else.
TEST_F(EngineServices, ANoticeMayBeUsedAgainByTheOneWhoIsTold) {
  struct chained : engine_notice {
    work_point next;
    std::atomic<int> told{0};
  };
  const test_stream s;
  chained who;
  who.reached = [](engine_notice& self) noexcept {
    auto& me = static_cast<chained&>(self);
    if (me.told.fetch_add(1) == 0 && !services().tell(me.next, me)) me.told += 100;
  };
  held first{s};
  const work_point end = end_of(s);
  held second{s};
  who.next = end_of(s);
  ASSERT_TRUE(engine.tell(end, who));
  first.open();
  while (who.told != 1) std::this_thread::yield();
  second.open();
  while (who.told != 2) std::this_thread::yield();
}

// One of those who take it back, or the one who tells, and nobody else.
TEST_F(EngineServices, TakingBackRacesWithTelling) {
  constexpr int rounds = 300;
  constexpr int threads = 3;
  const test_stream s;
  noting who;
  std::atomic<int> taken{0};
  std::atomic<int> begun{0};
  std::atomic<int> over{0};
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&] {
      for (int round = 1; round <= rounds; ++round) {
        while (begun < round) std::this_thread::yield();
        if (engine.untell(who.of, who)) ++taken;
        ++over;
      }
    });
  }
  for (int round = 1; round <= rounds; ++round) {
    held h{s};
    ASSERT_TRUE(tell(who, end_of(s)));
    if (round % 2 == 0) {
      begun = round;
      h.open();
    } else {
      h.open();
      begun = round;
    }
    while (over != threads * round || who.told + taken != round) std::this_thread::yield();
  }
  EXPECT_EQ(who.told_early, 0);
}

// A primary context that comes back to life is another one.
TEST_F(EngineServices, HealthIsThatOfTheContextsLife) {
  test::in_a_fresh_process([] {
    const engine_services& offered = services();
    CUcontext context = nullptr;
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    work_point end;
    work_home home;
    offered.end_of(nullptr, end, home);
    if (!WEIR_HOLDS(offered.health(home) == CUDA_SUCCESS)) return false;
    driver.cuDevicePrimaryCtxReset_v2(0);
    if (!WEIR_HOLDS(offered.health(home) == CUDA_ERROR_CONTEXT_IS_DESTROYED)) return false;
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    work_home now;
    offered.end_of(nullptr, end, now);
    return WEIR_HOLDS(offered.health(home) == CUDA_ERROR_CONTEXT_IS_DESTROYED) &&
           WEIR_HOLDS(offered.health(now) == CUDA_SUCCESS);
  });
}

// The first failure is told, after it can be seen; those whose points are held are not told before these are reached.
TEST_F(EngineServices, AFailureIsToldOnce) {
  test::in_a_fresh_process([] {
    static std::atomic<int> told{0};
    static std::atomic<int> seen{0};
    const engine_services& offered = services();
    const auto count = +[]() noexcept {
      if (engine::device_failure() == CUDA_ERROR_ILLEGAL_ADDRESS) ++seen;
      ++told;
    };
    CUcontext context = nullptr;
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    work_point end;
    work_home home;
    offered.end_of(nullptr, end, home);
    offered.on_failure(count);
    offered.on_failure(count);  // once is enough
    engine::fail_device(CUDA_ERROR_ILLEGAL_ADDRESS);
    engine::fail_device(CUDA_ERROR_LAUNCH_FAILED);
    return WEIR_HOLDS(told == 1) && WEIR_HOLDS(seen == 1) &&
           WEIR_HOLDS(offered.health(home) == CUDA_ERROR_ILLEGAL_ADDRESS) &&
           WEIR_HOLDS(offered.end_of(nullptr, end, home) == CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}

// Work behind a failure does not run, but it ends, and whoever waits for that end is told.
TEST_F(EngineServices, WhoWaitsWhenTheDeviceFailsIsTold) {
  test::in_a_fresh_process([] {
    const engine_services& offered = services();
    CUcontext context = nullptr;
    driver.cuInit(0);
    driver.cuDevicePrimaryCtxRetain(&context, 0);
    driver.cuCtxSetCurrent(context);
    CUstream s = nullptr;
    driver.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING);
    held h{s};
    noting who;
    work_home home;
    offered.end_of(s, who.of, home);
    if (!WEIR_HOLDS(offered.tell(who.of, who))) return false;
    engine::fail_device(CUDA_ERROR_ILLEGAL_ADDRESS);
    h.open();
    who.wait_for(1);
    std::_Exit(0);  // what is left cannot be given back
    return true;
  });
}

}  // namespace
}  // namespace weir::embedded
