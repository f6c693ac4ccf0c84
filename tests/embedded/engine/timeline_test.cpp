// SPDX-License-Identifier: Apache-2.0
// timeline_test.cpp - operations run in order, points report completion correctly, and waiters are
// woken. Longer than 400 lines, because all tests share the operations of the first ones.
#include "embedded/engine/timeline.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "embedded/engine/scheduler.hpp"
#include "embedded/engine/waiting.hpp"
#include "embedded/table.hpp"

namespace weir::embedded::engine {
namespace {

// Adds an operation that calls a function object of the test. The object must outlive the
// operation.
template <class Body>
point submit(timeline& line, Body& body, operation_kind kind = operation_kind::work) {
  struct call {
    Body* body;
    void run() const noexcept { (*body)(); }
  };
  timeline::submission pending{line};
  pending.add(make_operation(call{&body}, kind));
  return pending.end();
}

void add_wait(timeline& line, point target_point) {
  timeline::submission pending{line};
  pending.add_wait(target_point);
}

// Blocks a timeline until it is opened.
class gate {
 public:
  explicit gate(timeline& line) {
    struct look {
      const std::atomic<bool>* open;
      bool run() const noexcept { return open->load(); }
    };
    timeline::submission pending{line};
    pending.add(make_operation(look{&open_}, operation_kind::wait_value));
    end_ = pending.end();
  }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;
  ~gate() {
    open();
    wait(end_);
  }
  void open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
  point end_;
};

class Timeline : public ::testing::Test {
 protected:
  // selects the schedule
  void SetUp() override { ASSERT_EQ(table().cuInit(0), abi::CUDA_SUCCESS); }
};

TEST_F(Timeline, OperationsRunInTheOrderOfSubmissionAcrossManyChunks) {
  timeline& line = timeline::acquire();
  constexpr std::uint64_t count = 10'000;
  std::uint64_t next = 0;
  bool in_order = true;
  struct numbered {
    std::uint64_t number;
    std::uint64_t* next;
    bool* in_order;
    void run() const noexcept { *in_order = *in_order && (*next)++ == number; }
  };
  point end;
  for (std::uint64_t i = 0; i < count; ++i) {
    timeline::submission pending{line};
    pending.add(make_operation(numbered{i, &next, &in_order}));
    end = pending.end();
  }
  wait(end);
  EXPECT_TRUE(in_order);
  EXPECT_EQ(next, count);
  line.release_when_drained();
}

TEST_F(Timeline, APointIsReachedWhenItsOperationsAreComplete) {
  timeline& line = timeline::acquire();
  int runs = 0;
  auto body = [&] { ++runs; };
  point end;
  {
    gate held{line};
    end = submit(line, body);
    EXPECT_FALSE(end.reached());
    EXPECT_FALSE(line.drained());
    held.open();
    wait(end);
  }
  EXPECT_TRUE(end.reached());
  EXPECT_EQ(runs, 1);
  line.release_when_drained();
}

TEST_F(Timeline, AWaitBlocksOnlyTheWaitingTimeline) {
  timeline& first = timeline::acquire();
  timeline& second = timeline::acquire();
  timeline& third = timeline::acquire();
  std::atomic<int> late{0};
  std::atomic<int> free{0};
  auto count_late = [&] { ++late; };
  auto count_free = [&] { ++free; };
  {
    gate held{first};
    add_wait(second, first.submitted_point());
    const point after = submit(second, count_late);
    wait(submit(third, count_free));
    EXPECT_EQ(free, 1);
    EXPECT_EQ(late, 0);
    held.open();
    wait(after);
  }
  EXPECT_EQ(late, 1);
  for (timeline* line : {&first, &second, &third}) line->release_when_drained();
}

// Submits a wait for `target` and an operation, and runs the timeline until it is parked. Returns
// the end of the operation. This thread does it, because a worker sets `parked` before it registers
// the wait. Workers ignore the timeline, which is marked as queued, but in no list.
template <class Body>
point park(timeline& line, point target, Body& body) {
  while (!line.mark_queued()) std::this_thread::yield();  // a worker may still have it queued
  add_wait(line, target);
  const point end = submit(line, body);
  EXPECT_TRUE(line.try_own());
  EXPECT_EQ(line.run(runner_kind::helper, end.count), stop_reason::blocked);
  line.clear_queued();
  return end;
}

// A callback may wake a thread of the program, which should not wait for other wake-ups.
TEST_F(Timeline, AllCallbacksOfAPointAreCalledBeforeTheTimelinesThatWaitForIt) {
  if (scheduler::instance().deterministic() != nullptr)
    GTEST_SKIP() << "timelines are not parked before the wait";
  struct observer : detail::engine_callback {
    const std::atomic<int>* runs = nullptr;
    int runs_before = -1;
  };
  constexpr std::size_t waiters = 40;
  timeline& first = timeline::acquire();
  std::atomic<int> runs{0};
  auto count_run = [&] { ++runs; };
  std::vector<timeline*> lines;
  std::vector<observer> observers(waiters);
  {
    gate held{first};
    const point target = first.submitted_point();
    std::vector<point> ends;
    for (observer& added : observers) {
      timeline& line = *lines.emplace_back(&timeline::acquire());
      ends.push_back(park(line, target, count_run));
      added.runs = &runs;
      added.reached = [](detail::engine_callback& self) noexcept {
        auto& called = static_cast<observer&>(self);
        called.runs_before = called.runs->load();
      };
      ASSERT_TRUE(first.add_callback(added, target.count));
    }
    held.open();
    for (const point end : ends) wait(end);
  }
  for (const observer& called : observers) EXPECT_EQ(called.runs_before, 0);
  first.release_when_drained();
  for (timeline* line : lines) line->release_when_drained();
}

// Rule 40: a stream may wait for its own event without deadlock.
TEST_F(Timeline, ATimelineThatWaitsForItselfDoesNotBlock) {
  timeline& line = timeline::acquire();
  {
    gate held{line};
    const std::uint64_t before = line.submitted();
    add_wait(line, line.submitted_point());
    EXPECT_EQ(line.submitted(), before);
  }
  line.release_when_drained();
}

TEST_F(Timeline, PointsOfARecycledTimelineStayReached) {
  timeline& line = timeline::acquire();
  auto nothing = [] {};
  const point old = submit(line, nothing);
  wait(old);
  line.release_when_drained();
  std::vector<timeline*> taken;  // until the pool returns this one again
  do {
    taken.push_back(&timeline::acquire());
  } while (taken.back() != &line && taken.size() < 1000);
  ASSERT_EQ(taken.back(), &line);
  gate held{line};
  EXPECT_TRUE(old.reached());
  EXPECT_FALSE(line.submitted_point().reached());
  held.open();
  for (timeline* other : taken) other->release_when_drained();
}

// The caller may hold a lock that the function takes, so the function never runs on the caller's
// thread (oracle hostfn.thread).
TEST_F(Timeline, HostFunctionsRunOnOneDriverThread) {
  timeline& a = timeline::acquire();
  timeline& b = timeline::acquire();
  std::vector<std::thread::id> seen;  // not synchronized: one thread runs them
  auto note = [&] { seen.push_back(std::this_thread::get_id()); };
  point last;
  for (int i = 0; i < 100; ++i) {
    wait(submit(a, note, operation_kind::host));
    last = submit(b, note, operation_kind::host);
  }
  wait(last);
  ASSERT_EQ(seen.size(), 200u);
  for (const std::thread::id id : seen) {
    EXPECT_NE(id, std::this_thread::get_id());
    EXPECT_EQ(id, seen.front());
  }
  a.release_when_drained();
  b.release_when_drained();
}

// The host functions of different timelines take turns, as on a GPU.
TEST_F(Timeline, AHostFunctionOvertakesTheBacklogOfAnotherTimeline) {
  if (scheduler::instance().deterministic() != nullptr)
    GTEST_SKIP() << "the seed chooses which timeline is next";
  constexpr int backlog = 100;
  timeline& a = timeline::acquire();
  timeline& b = timeline::acquire();
  std::atomic<bool> open{false};
  auto block = [&] {
    while (!open) std::this_thread::yield();
  };
  int ran_in_a = 0;  // not synchronized: one thread runs the host functions
  int ran_before_b = backlog;
  auto count = [&] { ++ran_in_a; };
  auto note = [&] { ran_before_b = ran_in_a; };
  submit(a, block, operation_kind::host);
  for (int i = 0; i < backlog; ++i) submit(a, count, operation_kind::host);
  const point end_of_b = submit(b, note, operation_kind::host);
  while ((b.state() & timeline::parked) == 0 && !end_of_b.reached()) std::this_thread::yield();
  open = true;
  wait(end_of_b);
  wait(a.submitted_point());
  EXPECT_LE(ran_before_b, 2);
  EXPECT_EQ(ran_in_a, backlog);
  a.release_when_drained();
  b.release_when_drained();
}

TEST_F(Timeline, ABlockedHostFunctionDoesNotBlockOtherWork) {
  timeline& a = timeline::acquire();
  timeline& b = timeline::acquire();
  std::atomic<bool> open{false};
  auto block = [&] {
    while (!open) std::this_thread::yield();
  };
  std::atomic<int> ran{0};
  auto count = [&] { ++ran; };
  const point blocked = submit(a, block, operation_kind::host);
  for (int i = 0; i < 1000; ++i)
    submit(b, count, i % 10 == 0 ? operation_kind::long_work : operation_kind::work);
  wait(b.submitted_point());
  EXPECT_EQ(ran, 1000);
  EXPECT_FALSE(blocked.reached());
  open = true;
  wait(blocked);
  a.release_when_drained();
  b.release_when_drained();
}

TEST_F(Timeline, ConcurrentSubmissionsLoseNoOperation) {
  timeline& line = timeline::acquire();
  constexpr int threads = 4;
  constexpr int each = 5'000;
  int ran = 0;  // not atomic: one thread at a time runs the timeline
  auto count = [&] { ++ran; };
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t) {
    pool.emplace_back([&] {
      for (int i = 0; i < each; ++i) {
        const point end = submit(line, count);
        if (i % 64 == 0) wait(end);
      }
    });
  }
  for (std::thread& t : pool) t.join();
  wait(line.submitted_point());
  EXPECT_EQ(ran, threads * each);
  line.release_when_drained();
}

TEST_F(Timeline, AChainAcrossManyTimelinesRunsInOrder) {
  std::vector<timeline*> ring;
  for (int i = 0; i < 64; ++i) ring.push_back(&timeline::acquire());
  std::uint64_t expected = 0;
  bool in_order = true;
  struct numbered {
    std::uint64_t number;
    std::uint64_t* expected;
    bool* in_order;
    void run() const noexcept { *in_order = *in_order && (*expected)++ == number; }
  };
  point last;
  constexpr std::uint64_t links = 20'000;
  for (std::uint64_t i = 0; i < links; ++i) {
    timeline::submission pending{*ring[i % ring.size()]};
    pending.add_wait(last);
    pending.add(make_operation(numbered{i, &expected, &in_order}));
    last = pending.end();
  }
  wait(last);
  EXPECT_TRUE(in_order);
  EXPECT_EQ(expected, links);
  for (timeline* line : ring) line->release_when_drained();
}

// Each operation may wait for any earlier ones: none runs before those it waits for, and all run.
RC_GTEST_FIXTURE_PROP(Timeline, EveryRequestedOrderIsKept, ()) {
  const auto lines = *rc::gen::inRange<std::size_t>(1, 8);
  const auto count = *rc::gen::inRange<std::size_t>(1, 200);
  std::vector<timeline*> line;
  for (std::size_t i = 0; i < lines; ++i) line.push_back(&timeline::acquire());

  struct step {
    std::size_t on;
    std::vector<std::size_t> after;
    std::atomic<std::uint64_t> ran_as{0};
  };
  std::vector<step> steps(count);
  std::vector<point> ends(count);
  std::atomic<std::uint64_t> clock{0};
  struct tick {
    std::atomic<std::uint64_t>* clock;
    std::atomic<std::uint64_t>* out;
    void run() const noexcept { out->store(clock->fetch_add(1) + 1); }
  };
  for (std::size_t i = 0; i < count; ++i) {
    step& s = steps[i];
    s.on = *rc::gen::inRange<std::size_t>(0, lines);
    const auto waits = *rc::gen::inRange<std::size_t>(0, 4);
    timeline::submission pending{*line[s.on]};
    for (std::size_t w = 0; i > 0 && w < waits; ++w) {
      s.after.push_back(*rc::gen::inRange<std::size_t>(0, i));
      pending.add_wait(ends[s.after.back()]);
    }
    const auto kind = *rc::gen::element(operation_kind::work, operation_kind::work,
                                        operation_kind::long_work, operation_kind::host);
    pending.add(make_operation(tick{&clock, &s.ran_as}, kind));
    ends[i] = pending.end();
  }
  for (const point end : ends) wait(end);
  std::vector<std::uint64_t> last_on(lines, 0);
  for (const step& s : steps) {
    RC_ASSERT(s.ran_as.load() > last_on[s.on]);
    last_on[s.on] = s.ran_as;
    for (const std::size_t before : s.after)
      RC_ASSERT(steps[before].ran_as.load() < s.ran_as.load());
  }
  for (timeline* l : line) l->release_when_drained();
}

// A failure is permanent for the process, so each of these tests runs in its own process.
using TimelineDeathTest = Timeline;

TEST_F(TimelineDeathTest, OnlyMandatoryOperationsRunAfterAFailure) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto child = [] {
    timeline& line = timeline::acquire();
    std::atomic<int> ran{0};
    struct work {
      std::atomic<int>* ran;
      int by;
      void run() const noexcept { *ran += by; }
    };
    struct failure {
      void run() const noexcept { fail_device(abi::CUDA_ERROR_ILLEGAL_ADDRESS); }
    };
    {
      timeline::submission pending{line};
      pending.add(make_operation(work{&ran, 1}));
      pending.add(make_operation(failure{}));
      pending.add(make_operation(work{&ran, 10}));
      pending.add(make_operation(work{&ran, 100}, operation_kind::host));
      pending.add(make_unconditional_operation(work{&ran, 1000}, operation_kind::host));
    }
    wait(line.submitted_point());
    const bool right = ran == 1001 && device_failure() == abi::CUDA_ERROR_ILLEGAL_ADDRESS;
    std::_Exit(right ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace weir::embedded::engine
