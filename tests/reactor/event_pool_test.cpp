// SPDX-License-Identifier: Apache-2.0
// event_pool_test.cpp - the events that threads and completion queues share.
#include "driver/event_pool.hpp"

#include <weir/device/context.hpp>
#include <weir/device/device.hpp>

#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/fault_table.hpp"

namespace weir::detail {
namespace {

class EventPool : public ::testing::Test {
 protected:
  CUevent acquire(unsigned long long context_id) {
    CUevent event = nullptr;
    EXPECT_EQ(pool_.acquire(context_.get(), context_id, event).code, errc::success);
    return event;
  }
  void release(unsigned long long context_id, CUevent event) {
    pool_.release(context_id, {&event, 1});
  }

  device gpu_;
  context_ref context_ = gpu_.primary_context();
  event_pool pool_{CU_EVENT_DISABLE_TIMING};
};

TEST_F(EventPool, AReturnedEventIsTakenAgain) {
  const CUevent event = acquire(1);
  release(1, event);
  EXPECT_EQ(acquire(1), event);
  destroy_events({&event, 1});
}

TEST_F(EventPool, EachContextHasItsOwnEvents) {
  const CUevent first = acquire(1);
  release(1, first);
  const CUevent second = acquire(2);
  EXPECT_NE(second, first);
  destroy_events({&first, 1});
  destroy_events({&second, 1});
}

TEST_F(EventPool, EventsAboveTheLimitAreDestroyed) {
  event_pool small{CU_EVENT_DISABLE_TIMING, 1};
  const CUevent events[] = {acquire(1), acquire(1)};
  const fault_table calls;
  small.release(1, events);
  EXPECT_EQ(calls.count(&driver_table::cuEventDestroy_v2), 1);
  EXPECT_EQ(small.take(1), events[0]);
  EXPECT_EQ(small.take(1), nullptr);
  destroy_events({events, 1});
}

// The driver has destroyed the events of a destroyed context, and may have reused their handles.
TEST_F(EventPool, KeptEventsAreNotDestroyed) {
  const std::vector<CUevent> gone(event_pool::max_events + 1);
  const fault_table calls;
  pool_.keep(1, gone);
  pool_.keep(1, gone);
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(EventPool, AReturnedEventIsDestroyedIfMoreAreKeptThanTheLimit) {
  event_pool small{CU_EVENT_DISABLE_TIMING, 1};
  const CUevent events[] = {acquire(1), acquire(1), acquire(1)};
  small.keep(1, std::span{events}.first(2));
  const fault_table calls;
  small.release(1, std::span{events}.last(1));
  EXPECT_EQ(calls.count(&driver_table::cuEventDestroy_v2), 1);
  destroy_events(std::span{events}.first(2));
}

TEST_F(EventPool, AFailedCreationNamesItsCall) {
  CUevent event = nullptr;
  const driver_result answer = pool_.acquire(nullptr, 1, event);
  EXPECT_NE(answer.code, errc::success);
  EXPECT_NE(answer.call, nullptr);
}

}  // namespace
}  // namespace weir::detail
