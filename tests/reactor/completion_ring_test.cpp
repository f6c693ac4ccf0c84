// SPDX-License-Identifier: Apache-2.0
// completion_ring_test.cpp - points keep their tickets while the ring grows, wraps and shrinks;
// waiters stay in order.
#include "reactor/completion_ring.hpp"
#include "reactor/linked_queue.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

constexpr std::uint64_t burst = 5'000;  // more than max_kept_capacity

void push(completion_ring& ring, std::uint64_t value) {
  ring.reserve_one();
  ring.push(value);
}

// Compares the ring with a deque and the number of its first element.
class model {
 public:
  void push(completion_ring& ring, std::uint64_t value) {
    ring.reserve_one();
    RC_ASSERT(ring.push(value) == next_);
    points_.push_back(value);
    ++next_;
  }

  void pop(completion_ring& ring, std::size_t count) {
    if (count == 0) return;
    ring.pop_through(ring.begin() + count - 1);
    points_.erase(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void skip_ticket(completion_ring& ring) {
    RC_ASSERT(ring.skip_ticket() == next_);
    ++next_;
  }

  void check(completion_ring& ring) const {
    RC_ASSERT(ring.size() == points_.size());
    RC_ASSERT(ring.empty() == points_.empty());
    RC_ASSERT(ring.end() == next_);
    RC_ASSERT(ring.begin() == next_ - points_.size());
    RC_ASSERT(ring.capacity() >= ring.size());
    RC_ASSERT(!ring.contains(ring.begin() - 1));
    RC_ASSERT(!ring.contains(ring.end()));
    for (std::size_t i = 0; i < points_.size(); ++i) {
      RC_ASSERT(ring.contains(ring.begin() + i));
      RC_ASSERT(ring[ring.begin() + i].value == points_[i]);
      RC_ASSERT(ring[ring.begin() + i].first_waiter == nullptr);
    }
  }

  [[nodiscard]] std::size_t size() const { return points_.size(); }

 private:
  std::deque<std::uint64_t> points_;
  std::uint64_t next_ = 1;
};

RC_GTEST_PROP(CompletionRing, ACompletionRingIsAQueueWithUniqueNumbers, ()) {
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
  completion_ring ring;
  model m;
  std::uint64_t value = 1;
  for (const int step : steps) {
    if (step < 60) {
      for (int i = 0; i < step; ++i) m.push(ring, value++);
    } else if (step < 90) {
      m.pop(ring, m.size() * static_cast<std::size_t>(step - 60) / 29);
    } else if (step < 95) {
      ring.shrink();
    } else if (ring.empty()) {
      m.skip_ticket(ring);
    }
    m.check(ring);
  }
}

TEST(CompletionRing, AnEmptyCompletionRingFreesTheMemoryOfABurst) {
  completion_ring ring;
  for (std::uint64_t i = 0; i < burst; ++i) push(ring, i);
  ring.shrink();
  EXPECT_GE(ring.capacity(), burst) << "it is still in use";
  ring.pop_through(ring.end() - 1);
  ring.shrink();
  EXPECT_EQ(ring.capacity(), 0U);
  push(ring, 1);
  EXPECT_EQ(ring.begin(), burst + 1) << "a number was given twice";
}

TEST(CompletionRing, ASmallCompletionRingKeepsItsCapacityWhenItIsEmptied) {
  completion_ring ring;
  for (int i = 0; i < 100; ++i) push(ring, 1);
  const std::uint64_t room = ring.capacity();
  ring.pop_through(ring.end() - 1);
  ring.shrink();
  EXPECT_EQ(ring.capacity(), room);
}

RC_GTEST_PROP(WaiterList, AWaiterListIsAFifoQueue, (const std::vector<bool>& appends)) {
  std::vector<completion_waiter> waiters(appends.size());
  std::deque<completion_waiter*> model;
  waiter_list list;
  std::size_t next = 0;
  for (const bool append : appends) {
    if (append) {
      completion_waiter& waiter = waiters[next++];
      waiter.next = &waiter;  // a stale link of another list
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
