// SPDX-License-Identifier: Apache-2.0
// timer_queue_test.cpp - timers expire in order and once, unless they are removed.
#include "reactor/timer_queue.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <map>
#include <ostream>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace weir::detail {
namespace {

struct step {
  int kind;  // 0 and 1: add or remove; 2: time passes
  std::size_t which;
  long long when;
};

void showValue(const step& s, std::ostream& os) {  // NOLINT: the name that RapidCheck looks for
  if (s.kind == 2) {
    os << "it is " << s.when;
  } else {
    os << s.which << " comes for " << s.when << ", or goes";
  }
}

rc::Gen<step> any_step() {
  return rc::gen::build<step>(rc::gen::set(&step::kind, rc::gen::inRange(0, 3)),
                              rc::gen::set(&step::which, rc::gen::inRange<std::size_t>(0, 12)),
                              rc::gen::set(&step::when, rc::gen::inRange<long long>(0, 40)));
}

// The queued timers and their deadlines.
class model {
 public:
  void check(const timer_queue& queue) const {
    long long earliest = timer_queue::never;
    for (const auto& [which, when] : waiting) earliest = std::min(earliest, when);
    RC_ASSERT(queue.earliest() == earliest);
  }

  std::map<const wait_timer*, long long> waiting;
};

RC_GTEST_PROP(TimerQueue, TimersExpireInOrderAndExactlyOnce, ()) {
  const auto steps = *rc::gen::container<std::vector<step>>(any_step());
  std::vector<wait_timer> timers(12);
  timer_queue queue;
  model m;
  for (const step& s : steps) {
    wait_timer& timer = timers[s.which];
    if (s.kind != 2) {
      if (m.waiting.contains(&timer)) {
        RC_ASSERT(queue.remove(timer));
        m.waiting.erase(&timer);
      } else {
        RC_ASSERT(!queue.remove(timer));
        queue.add(timer, s.when);
        m.waiting.emplace(&timer, s.when);
      }
      m.check(queue);
      continue;
    }
    long long before = 0;
    while (wait_timer* const expired = queue.pop_expired(s.when)) {
      RC_ASSERT(m.waiting.contains(expired));
      const long long deadline = m.waiting.at(expired);
      RC_ASSERT(deadline <= s.when);
      RC_ASSERT(deadline >= before);
      RC_ASSERT(!queue.remove(*expired));
      before = deadline;
      m.waiting.erase(expired);
      m.check(queue);
    }
    RC_ASSERT(queue.earliest() > s.when);
  }
  while (wait_timer* const expired = queue.pop_expired(timer_queue::never)) {
    RC_ASSERT(m.waiting.erase(expired) == 1U);
  }
  RC_ASSERT(m.waiting.empty());
}

// A timer that is removed at its deadline either expires or is removed.
TEST(TimerQueue, ATimerEitherExpiresOrIsRemovedExactlyOnce) {
  constexpr int threads = 4;
  constexpr int rounds = 5'000;
  struct counted : wait_timer {
    std::atomic<int> fired{0};
  };
  timer_queue queue;
  std::atomic<int> running{threads};
  std::atomic<int> removed{0};
  std::atomic<int> fired{0};
  const auto fire = [&] {
    while (wait_timer* const expired = queue.pop_expired(rounds)) {
      ++fired;
      ++static_cast<counted*>(expired)->fired;
    }
  };
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      counted timer;
      for (int round = 0; round < rounds; ++round) {
        timer.fired = 0;
        queue.add(timer, (round * threads + i) % rounds);
        if (queue.remove(timer)) {
          ++removed;
          EXPECT_EQ(timer.fired, 0);
        } else {
          while (timer.fired == 0) std::this_thread::yield();
        }
      }
      --running;
    });
  }
  all.emplace_back([&] {
    while (running != 0) fire();
  });
  all.clear();
  EXPECT_EQ(fired + removed, threads * rounds);
  EXPECT_EQ(queue.earliest(), timer_queue::never);
}

}  // namespace
}  // namespace weir::detail
