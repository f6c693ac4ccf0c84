// waiter_list_test.cpp - waiters are told in the order in which they were put down.
#include "reactor/waiter_list.hpp"

#include <cstddef>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

RC_GTEST_PROP(WaiterList, AWaiterListIsAFifoQueue, (const std::vector<bool>& appends)) {
  std::vector<completion_waiter> waiters(appends.size());
  std::deque<completion_waiter*> model;
  waiter_list list;
  std::size_t next = 0;
  for (const bool append : appends) {
    if (append) {
      completion_waiter& waiter = waiters[next++];
      waiter.next = &waiter;  // what another list has left there
      list.append(waiter);
      model.push_back(&waiter);
    } else {
      completion_waiter* const first = model.empty() ? nullptr : model.front();
      if (!model.empty()) model.pop_front();
      RC_ASSERT(list.pop() == first);
    }
    RC_ASSERT(list.empty() == model.empty());
  }
  for (completion_waiter* const waiter : model) RC_ASSERT(list.pop() == waiter);
  RC_ASSERT(list.pop() == nullptr);
}

TEST(WaiterList, ATakenWaiterMayBeDestroyed) {
  waiter_list list;
  auto first = std::make_unique<completion_waiter>();
  completion_waiter second;
  list.append(*first);
  list.append(second);
  EXPECT_EQ(list.pop(), first.get());
  first.reset();
  EXPECT_EQ(list.pop(), &second);
  EXPECT_TRUE(list.empty());
}

}  // namespace
}  // namespace weir::detail
