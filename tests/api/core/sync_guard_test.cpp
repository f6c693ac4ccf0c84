// SPDX-License-Identifier: Apache-2.0
// sync_guard_test.cpp - blocks of code in which the host must not wait.
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when_all_values.hpp>
#include <weir/core/sync_guard.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/sync_scope.hpp>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

class SyncGuard : public ::testing::Test {
 protected:
  device gpu;
  stream s{gpu};
};

TEST_F(SyncGuard, ASyncGuardRefusesEveryWait) {
  const timed_event a = s.record_timed();
  const timed_event b = s.record_timed();
  pinned_buffer<int> pinned{10};
  stream closing{gpu};
  const completion done = s.completion();
  done.wait();
  {
    const sync_guard none{sync_rule::forbidden};
    EXPECT_EQ(result_of([&] { done.wait(); }), errc::not_permitted) << "although the work is done";
    EXPECT_EQ(result_of([&] { static_cast<void>(done.wait_for(std::chrono::seconds{1})); }),
              errc::not_permitted);
    EXPECT_EQ(result_of([&] { sync_wait(done); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { s.sync(); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { static_cast<void>(s.sync_for(std::chrono::seconds{1})); }),
              errc::not_permitted);
    EXPECT_EQ(result_of([&] { a.sync(); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { static_cast<void>(a.sync_for(std::chrono::seconds{1})); }),
              errc::not_permitted);
    EXPECT_EQ(result_of([&] { static_cast<void>(sync_elapsed(a, b)); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { gpu.sync(); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { gpu.primary_context().sync(); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { pinned.close(); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { closing.shutdown(); }), errc::not_permitted);
    EXPECT_FALSE(closing.closed()) << "the refused shutdown() changes nothing";
    EXPECT_FALSE(pinned.closed());
  }
  s.sync();
  closing.shutdown();
}

// The body does not run, because the memory that it lends could be gone before the work without the
// wait.
TEST_F(SyncGuard, ASyncScopeIsRefusedBeforeItsBody) {
  const sync_guard none{sync_rule::forbidden};
  bool ran = false;
  EXPECT_EQ(result_of([&] { sync_scope(s, [&](stream_ref) { ran = true; }); }),
            errc::not_permitted);
  EXPECT_FALSE(ran);
}

TEST_F(SyncGuard, QueriesAndQueuedWorkAreNotWaits) {
  buffer<int> x{s, 10};
  pinned_buffer<int> y{10};
  const sync_guard none{sync_rule::forbidden};
  copy(s, x, y);
  static_cast<void>(s.record().done());
  static_cast<void>(s.status());
}

// The driver stages pageable memory, and the caller waits for that.
TEST_F(SyncGuard, CopiesOfPageableMemoryCountAsWaits) {
  buffer<int> x{s, 10};
  pinned_buffer<int> pinned{10};
  std::vector<int> pageable(10);
  {
    const sync_guard none{sync_rule::forbidden};
    EXPECT_EQ(result_of([&] { copy(s, pageable, x); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { copy(s, x, pageable); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { copy_batch{}.add(x, pageable).enqueue(s); }), errc::not_permitted);
    EXPECT_EQ(result_of([&] { copy_batch{}.add(x, pinned).enqueue(s); }), errc::success);
  }
  copy(s, x, pageable);
  s.sync();
}

TEST_F(SyncGuard, CopiesBetweenHostMemoryCountAsWaits) {
  pinned_buffer<int> source{10};
  pinned_buffer<int> target{10};
  const sync_guard none{sync_rule::forbidden};
  EXPECT_EQ(result_of([&] { copy(s, source, target); }), errc::not_permitted);
}

TEST_F(SyncGuard, TheErrorNamesTheLinesOfTheWaitAndOfTheGuard) {
  const unsigned guarded = __LINE__ + 1;
  const sync_guard none{sync_rule::forbidden};
  const unsigned line = __LINE__ + 1;
  const auto failure = failure_of([&] { s.sync(); });
  ASSERT_TRUE(failure);
  EXPECT_STREQ(failure->call(), "cuStreamSynchronize");
  EXPECT_EQ(failure->where().line(), line);
  EXPECT_NE(failure->hint().find(std::to_string(guarded) + " forbids"), std::string::npos);
}

TEST_F(SyncGuard, SyncGuardsNestAndRestoreTheOuterSetting) {
  const sync_guard none{sync_rule::forbidden};
  {
    const sync_guard here{sync_rule::allowed};
    s.sync();
    {
      const sync_guard inner{sync_rule::forbidden};
      EXPECT_EQ(result_of([&] { s.sync(); }), errc::not_permitted);
    }
    s.sync();
  }
  EXPECT_EQ(result_of([&] { s.sync(); }), errc::not_permitted);
  EXPECT_THROW(
      {
        const sync_guard here{sync_rule::allowed};
        throw std::runtime_error{"out of the block"};
      },
      std::runtime_error);
  EXPECT_EQ(result_of([&] { s.sync(); }), errc::not_permitted);
}

TEST_F(SyncGuard, ASyncGuardDoesNotAffectOtherThreads) {
  const sync_guard none{sync_rule::forbidden};
  errc there = errc::unknown;
  std::thread{[&] { there = result_of([&] { s.sync(); }); }}.join();
  EXPECT_EQ(there, errc::success);
}

TEST_F(SyncGuard, AReportingSyncGuardListsEachLineOnce) {
  sync_guard watch{sync_rule::reported};
  EXPECT_TRUE(watch.waits().empty());
  const unsigned line = __LINE__ + 1;
  for (int i = 0; i < 3; ++i) s.sync();
  gpu.sync();
  {
    const sync_guard quiet{sync_rule::allowed};
    s.sync();
  }
  ASSERT_EQ(watch.waits().size(), 2u);
  EXPECT_STREQ(watch.waits()[0].call, "cuStreamSynchronize");
  EXPECT_EQ(watch.waits()[0].where.line(), line);
  EXPECT_EQ(watch.waits()[0].times, 3u);
  EXPECT_STREQ(watch.waits()[1].call, "weir::context_ref::sync");
  EXPECT_EQ(watch.waits()[1].times, 1u);
}

TEST_F(SyncGuard, ValuesOfCompletedFuturesAreTakenWithoutAWait) {
  const auto of = [&](int value) { return s.enqueue([value] { return value; }); };
  const int sum = sync_wait([&]() -> task<int> {
    std::vector<future<int>> any_number;
    any_number.push_back(of(1));
    any_number.push_back(of(2));
    future<int> third = of(3);
    co_await s.completion();
    const sync_guard none{sync_rule::forbidden};
    const std::vector<int> two = co_await when_all(std::move(any_number));
    const auto [last] = co_await when_all(std::move(third));
    co_return 100 * two[0] + 10 * two[1] + last;
  }());
  EXPECT_EQ(sum, 123);
}

// Guards on the heap may be destroyed in any order.
TEST_F(SyncGuard, SyncGuardsMayBeDestroyedInAnyOrder) {
  auto outer = std::make_unique<sync_guard>(sync_rule::allowed);
  auto inner = std::make_unique<sync_guard>(sync_rule::forbidden);
  outer.reset();
  EXPECT_EQ(result_of([&] { s.sync(); }), errc::not_permitted);
  inner.reset();
  EXPECT_EQ(result_of([&] { s.sync(); }), errc::success);
}

}  // namespace
}  // namespace weir
