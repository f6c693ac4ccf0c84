// SPDX-License-Identifier: Apache-2.0
// shared_event_test.cpp - the records of an event shared between processes: each completes after
// the previous one.
#include <atomic>
#include <thread>
#include <vector>

#include "embedded/core/out_of_memory.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/memory/memory_fixture.hpp"
#include "embedded/model/ipc/shared_event.hpp"
#include "embedded/model/stream/operations.hpp"

namespace weir::embedded {
namespace {

constexpr unsigned of_several_processes = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

class SharedEvent : public memory_test {};

// Two concurrent records, the later ticket submitted first: neither completes the other.
TEST_F(SharedEvent, ConcurrentRecordsCompleteInOrder) {
  engine::timeline& one = engine::timeline::acquire();
  engine::timeline& other = engine::timeline::acquire();
  model::shared_event event;
  ASSERT_EQ(event.make(), CUDA_SUCCESS);
  const pinned_block word{4};
  words_at(word.address())[0] = 0;
  const model::value_wait until_open{word.get(), 1, CU_STREAM_WAIT_VALUE_EQ};
  engine::point first;
  engine::point second;
  {
    engine::timeline::submission earlier{one};
    earlier.add(engine::make_operation(until_open, engine::operation_kind::wait_value));
    first = event.record_in(earlier);
    {
      engine::timeline::submission later{other};
      second = event.record_in(later);
    }
    EXPECT_EQ(event.latest().line, &other) << "the point of the last record";
    EXPECT_FALSE(second.reached());
  }
  EXPECT_FALSE(event.complete());
  std::atomic_ref{words_at(word.address())[0]} = 1;
  engine::wait_for_host(second);
  EXPECT_TRUE(first.reached());
  EXPECT_TRUE(event.complete());
  event.end();
  one.release_when_drained();
  other.release_when_drained();
}

// Each record waits for the previous one, even if that is made concurrently. There is no circular
// wait.
TEST_F(SharedEvent, ThreadsThatRecordOneEventDoNotDeadlock) {
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, of_several_processes), CUDA_SUCCESS);
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

// All threads record in one stream, which reaches the records in the order of their tickets.
TEST_F(SharedEvent, ThreadsRecordInOneStream) {
  const test_stream stream;
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, of_several_processes), CUDA_SUCCESS);
  CUcontext context = nullptr;
  ASSERT_EQ(driver.cuCtxGetCurrent(&context), CUDA_SUCCESS);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      ASSERT_EQ(driver.cuCtxSetCurrent(context), CUDA_SUCCESS);
      for (int n = 0; n < 5000; ++n) ASSERT_EQ(driver.cuEventRecord(event, stream), CUDA_SUCCESS);
    });
  }
  for (std::thread& thread : threads) thread.join();
  stream.synchronize();
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

// A record that cannot be submitted completes nothing, and blocks no later record.
TEST_F(SharedEvent, ARecordWithoutMemoryFailsAndRecordsNothing) {
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, of_several_processes), CUDA_SUCCESS);
  const test_stream stream;
  stream_gate gate{stream};
  CUresult status = CUDA_SUCCESS;
  {
    const out_of_memory none;
    while (status == CUDA_SUCCESS) status = driver.cuEventRecord(event, stream);
  }
  EXPECT_EQ(status, CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY) << "of those before";
  gate.open();
  stream.synchronize();
  EXPECT_EQ(driver.cuEventQuery(event), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

// A launch whose event record fails, at any of its operations, completes nothing and blocks
// nothing.
TEST_F(SharedEvent, ALaunchWithoutMemoryRecordsNothing) {
  CUevent event = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&event, of_several_processes), CUDA_SUCCESS);
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  ASSERT_EQ(driver.cuGraphCreate(&graph, 0), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphAddEventRecordNode(&node, graph, nullptr, 0, event), CUDA_SUCCESS);
  ASSERT_EQ(driver.cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
  const pinned_block word{4};
  for (int before = 0; before < 3; ++before) {
    const test_stream stream;
    stream_gate gate{stream};
    for (int i = 0; i < before; ++i) {
      ASSERT_EQ(driver.cuMemsetD32Async(word.address(), 0, 1, stream), CUDA_SUCCESS);
    }
    CUresult status = driver.cuGraphLaunch(exec, stream);
    {
      const out_of_memory none;
      while (status == CUDA_SUCCESS) status = driver.cuGraphLaunch(exec, stream);
    }
    EXPECT_EQ(status, CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT_EQ(driver.cuEventQuery(event), CUDA_ERROR_NOT_READY) << "of those before";
    gate.open();
    stream.synchronize();
    ASSERT_EQ(driver.cuEventQuery(event), CUDA_SUCCESS);
  }
  EXPECT_EQ(driver.cuGraphExecDestroy(exec), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuGraphDestroy(graph), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
}

}  // namespace
}  // namespace weir::embedded
