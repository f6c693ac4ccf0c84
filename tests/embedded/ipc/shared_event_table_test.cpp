// SPDX-License-Identifier: Apache-2.0
// shared_event_table_test.cpp - the slots of events shared between processes: how many there are,
// and who frees them.
#include <unistd.h>

#include <vector>

#include "embedded/memory/memory_fixture.hpp"
#include "embedded/model/ipc/shared_event_table.hpp"
#include "support/peer.hpp"

namespace weir::embedded {

namespace {

constexpr unsigned shared_event_flags = CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING;

// Opens every event handle that it receives, until one without a type arrives. Replies with the
// count, keeps the events open until another byte arrives, and exits without closing them.
WEIR_PEER_ROLE(event_hoarder) {
  CUcontext context = nullptr;
  driver.cuInit(0);
  driver.cuDevicePrimaryCtxRetain(&context, 0);
  driver.cuCtxSetCurrent(context);
  int opened = 0;
  CUipcEventHandle handle{};
  for (CUevent event = nullptr; test.try_receive(handle) && handle.reserved[0] != 0;) {
    if (driver.cuIpcOpenEventHandle(&event, handle) == CUDA_SUCCESS) ++opened;
  }
  test.send(opened);
  char end = 0;
  static_cast<void>(test.try_receive(end));
  _exit(0);
}

class SharedEventTable : public memory_test {
 protected:
  static std::vector<CUevent> all_that_there_can_be() {
    std::vector<CUevent> all;
    CUevent made = nullptr;
    while (driver.cuEventCreate(&made, shared_event_flags) == CUDA_SUCCESS) all.push_back(made);
    return all;
  }
  static void destroy(const std::vector<CUevent>& all) {
    for (const CUevent event : all) ASSERT_EQ(driver.cuEventDestroy_v2(event), CUDA_SUCCESS);
  }
};

// The slots of an ended process are freed, though it closed nothing.
TEST_F(SharedEventTable, SlotsOfAnEndedProcessAreFreed) {
  test::peer other{"event_hoarder"};
  const std::vector<CUevent> all = all_that_there_can_be();
  CUipcEventHandle handle{};
  for (const CUevent event : all) {
    ASSERT_EQ(driver.cuIpcGetEventHandle(&handle, event), CUDA_SUCCESS);
    other.send(handle);
  }
  other.send(CUipcEventHandle{});
  EXPECT_EQ(other.receive<int>(), static_cast<int>(all.size()));
  destroy(all);
  CUevent none = nullptr;
  EXPECT_EQ(driver.cuEventCreate(&none, shared_event_flags), CUDA_ERROR_OUT_OF_MEMORY)
      << "the other process has them all";
  other.send('e');
  EXPECT_EQ(other.wait(), 0);
  const std::vector<CUevent> again = all_that_there_can_be();
  EXPECT_EQ(again.size(), all.size());
  destroy(again);
}

TEST_F(SharedEventTable, SlotsOfDestroyedEventsAreReused) {
  for (int i = 0; i < 20'000; ++i) {
    CUevent made = nullptr;
    ASSERT_EQ(driver.cuEventCreate(&made, shared_event_flags), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuEventRecord(made, nullptr), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuEventSynchronize(made), CUDA_SUCCESS);
    ASSERT_EQ(driver.cuEventDestroy_v2(made), CUDA_SUCCESS);
  }
}

TEST_F(SharedEventTable, EventsCanBeCreatedAgainAfterTheBoardWasFull) {
  const std::vector<CUevent> all = all_that_there_can_be();
  EXPECT_EQ(all.size(), model::shared_event_table::capacity);
  destroy(all);
  CUevent made = nullptr;
  ASSERT_EQ(driver.cuEventCreate(&made, shared_event_flags), CUDA_SUCCESS);
  EXPECT_EQ(driver.cuEventDestroy_v2(made), CUDA_SUCCESS);
}

}  // namespace

}  // namespace weir::embedded
