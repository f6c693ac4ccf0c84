// shared_event_test.cpp - the records of an event of several processes: each completes behind the one before.
#include <thread>
#include <vector>

#include "embedded/engine/waiting.hpp"
#include "embedded/memory_fixture.hpp"
#include "embedded/model/shared_event.hpp"

namespace weir::embedded {
namespace {

class SharedEvent : public memory_test {};

// Two records at the same moment, the later one begun before the earlier one is submitted: neither completes the other.
TEST_F(SharedEvent, RecordsThatMeetCompleteInTheirOrder) {
  model::shared_event event;
  ASSERT_EQ(event.make(), CUDA_SUCCESS);
  model::shared_event::begun_record first{};
  std::thread{[&] { first = event.begin_record(); }}.join();
  model::shared_event::begun_record second = event.begin_record();
  EXPECT_EQ(second.ticket, first.ticket + 1);
  EXPECT_TRUE(first.behind.reached());
  EXPECT_FALSE(second.behind.reached());
  EXPECT_FALSE(event.complete());
  first.complete();
  engine::wait_for_host(second.behind);
  EXPECT_FALSE(event.complete());
  second.complete();
  EXPECT_TRUE(event.complete());
  event.end();
}

// The same where the later one's thread is the first to tell its point.
TEST_F(SharedEvent, RecordsThatMeetAreToldInAnyOrder) {
  model::shared_event event;
  ASSERT_EQ(event.make(), CUDA_SUCCESS);
  model::shared_event::begun_record first = event.begin_record();
  model::shared_event::begun_record second = event.begin_record();
  const engine::point unreached = second.behind;
  event.took(second.ticket, unreached);
  event.took(first.ticket, {});
  EXPECT_EQ(event.latest().line, unreached.line) << "the point of the last record";
  model::shared_event::begun_record third = event.begin_record();
  EXPECT_EQ(third.behind.line, unreached.line);
  first.complete();
  engine::wait_for_host(unreached);
  second.complete();
  third.complete();
  event.end();
}

// Each record waits for the one before, whoever makes that at the same moment: nobody waits in a circle.
TEST_F(SharedEvent, ThreadsThatRecordOneEventAllComeToTheirEnd) {
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
      const test_stream records;
      const test_stream waits;
      for (int n = 0; n < 500; ++n) {
        EXPECT_EQ(driver.cuEventRecord(event, records), CUDA_SUCCESS);
        EXPECT_EQ(driver.cuStreamWaitEvent(waits, event, 0), CUDA_SUCCESS);
        if (n % 50 == 0) {
          EXPECT_EQ(driver.cuEventRecord(event, waits), CUDA_SUCCESS);
        }
      }
      records.synchronize();
      waits.synchronize();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
