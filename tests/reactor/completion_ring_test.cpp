// completion_ring_test.cpp - points keep their numbers while the ring grows, goes round, and gives
// its room back.
#include "reactor/completion_ring.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

constexpr std::uint64_t burst = 5'000;  // more than is kept

void push(completion_ring& ring, std::uint64_t value) {
  ring.reserve_one();
  ring.push(value);
}

// Against a queue with the number of its first element.
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

TEST(CompletionRing, ACompletionRingDoesNotShrinkWhileRoomIsReserved) {
  completion_ring ring;
  for (std::uint64_t i = 0; i < burst; ++i) push(ring, i);
  ring.reserve_one();
  ring.pop_through(ring.end() - 1);
  EXPECT_FALSE(ring.shrink());
  ring.push(1);
  ring.pop_through(ring.end() - 1);
  EXPECT_TRUE(ring.shrink());
}

}  // namespace
}  // namespace weir::detail
