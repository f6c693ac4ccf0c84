// SPDX-License-Identifier: Apache-2.0
// stream_pool_test.cpp - streams that are lent and returned.
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream_pool.hpp>

#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::gate;
using test::result_of;

static_assert(!std::is_copy_constructible_v<stream_lease> &&
              std::is_nothrow_move_constructible_v<stream_lease>);
static_assert(std::is_convertible_v<const stream_lease&, stream_ref>);

class StreamPool : public ::testing::Test {
 protected:
  device gpu;
};

TEST_F(StreamPool, AStreamIsLentToOneHolder) {
  const stream_pool pool{gpu};
  const stream_lease a = pool.acquire();
  const stream_lease b = pool.acquire();
  EXPECT_NE(a.ref(), b.ref());
  EXPECT_EQ(a->device(), gpu);
  EXPECT_FALSE(a->is_blocking());
  const event e = a->record();
  b->wait(e);
  b->sync();
}

TEST_F(StreamPool, AReturnedStreamIsLentAgain) {
  const stream_pool pool{gpu};
  const fault_table calls;
  std::set<CUstream_st*> seen;
  for (int i = 0; i < 10; ++i) seen.insert(pool.acquire().get());
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_EQ(calls.count(&driver_table::cuStreamCreateWithPriority), 0)
      << "the pool creates the first stream";
}

TEST_F(StreamPool, TheLeastRecentlyReturnedStreamIsLentFirst) {
  const stream_pool pool{gpu};
  stream_lease a = pool.acquire();
  stream_lease b = pool.acquire();
  stream_lease c = pool.acquire();
  const std::vector<CUstream_st*> order{b.get(), c.get(), a.get()};
  b.close();
  c.close();
  a.close();
  const stream_lease first = pool.acquire();
  const stream_lease second = pool.acquire();
  const stream_lease third = pool.acquire();
  EXPECT_EQ((std::vector<CUstream_st*>{first.get(), second.get(), third.get()}), order);
}

TEST_F(StreamPool, ABusyStreamIsLentOnlyAtTheLimit) {
  const stream_pool pool{gpu, {.limit = 2}};
  stream_lease a = pool.acquire();
  CUstream_st* const first = a.get();
  gate held{a};
  a.close();
  stream_lease b = pool.acquire();
  EXPECT_NE(b.get(), first) << "the first stream is still busy";
  stream_lease c = pool.acquire();
  EXPECT_EQ(c.get(), first) << "the limit is reached";
  const event behind = c->record();
  EXPECT_FALSE(behind.done()) << "the stream still has its work";
  held.open();
  behind.sync();
}

TEST_F(StreamPool, AnExhaustedPoolThrowsExhausted) {
  const stream_pool pool{gpu, {.name = "few", .limit = 2}};
  const stream_lease a = pool.acquire();
  std::optional<stream_lease> b = pool.try_acquire();
  ASSERT_TRUE(b);
  EXPECT_FALSE(pool.try_acquire());
  EXPECT_FALSE(pool.acquire_for(std::chrono::milliseconds{2}));
  const auto failure = failure_of([&] { static_cast<void>(pool.acquire()); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::exhausted);
  EXPECT_NE(failure->object().find("few"), std::string::npos);
  EXPECT_NE(failure->hint().find("2 of the role's 2 streams"), std::string::npos);
  b.reset();
  EXPECT_TRUE(pool.try_acquire());
}

TEST_F(StreamPool, AThreadWaitsForAReturnedLease) {
  const stream_pool pool{gpu, {.limit = 1}};
  std::optional<stream_lease> a = pool.acquire();
  CUstream_st* const only = a->get();
  std::atomic<bool> asked{false};
  std::thread waiting{[&] {
    asked = true;
    const std::optional<stream_lease> mine = pool.acquire_for(std::chrono::minutes{1});
    EXPECT_TRUE(mine && mine->get() == only);
  }};
  while (!asked) std::this_thread::yield();
  a.reset();
  waiting.join();
}

TEST_F(StreamPool, RolesAreNeverMixed) {
  const int high = gpu.priorities().greatest;
  const stream_pool pool{gpu,
                         {{.name = "work", .limit = 2},
                          {.name = "copies",
                           .streams = {.priority = high, .kind = stream_kind::blocking},
                           .limit = 1}}};
  const stream_lease first = pool.acquire();
  const stream_lease work = pool.acquire("work");
  const stream_lease copies = pool.acquire("copies");
  EXPECT_EQ(copies->priority(), high);
  EXPECT_TRUE(copies->is_blocking());
  EXPECT_FALSE(work->is_blocking());
  EXPECT_FALSE(pool.try_acquire("work")) << "the first role has no name";
  EXPECT_FALSE(pool.try_acquire("copies"));
  const stream_pool::counts counts = pool.count("work");
  EXPECT_EQ(counts.limit, 2u);
  EXPECT_EQ(counts.created, 2u);
  EXPECT_EQ(counts.leased, 2u);
  const auto failure = failure_of([&] { static_cast<void>(pool.acquire("play")); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("'work', 'copies'"), std::string::npos);
}

TEST_F(StreamPool, ARoleHasItsAttributes) {
  const stream_pool pool{gpu, {.settings = {.sync_policy = sync_policy::block}}};
  const stream_lease a = pool.acquire();
  const stream_lease b = pool.acquire();
  EXPECT_EQ(stream_attributes{a}.sync_policy(), sync_policy::block);
  EXPECT_EQ(stream_attributes{b}.sync_policy(), sync_policy::block);
  EXPECT_EQ(result_of([&] {
              const stream_pool wrong(gpu, {.settings = {.sync_policy = sync_policy::unset}});
            }),
            errc::invalid_value);
}

TEST_F(StreamPool, InvalidOptionsAreRefused) {
  EXPECT_EQ(result_of([&] { const stream_pool pool(gpu, std::initializer_list<stream_role>{}); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { const stream_pool pool(gpu, {.limit = 0}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { const stream_pool pool(gpu, {.limit = 1025}); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              const stream_pool pool(gpu, {{.name = "a"}, {.name = "a"}});
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { const stream_pool pool(gpu, {.streams = {.priority = -1000}}); }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] { const stream_pool pool{device{device::count()}}; }),
            errc::invalid_device);
}

TEST_F(StreamPool, NextReturnsTheStreamsInTurn) {
  const stream_pool pool{gpu, {.limit = 3}};
  std::vector<CUstream_st*> given;
  for (int i = 0; i < 9; ++i) given.push_back(pool.next().get());
  EXPECT_EQ(std::set<CUstream_st*>(given.begin(), given.end()).size(), 3u);
  for (std::size_t i = 3; i < given.size(); ++i) EXPECT_EQ(given[i], given[i - 3]);
  EXPECT_EQ(pool.count().leased, 0u);
}

TEST_F(StreamPool, ALeaseMayOutliveItsPool) {
  const fault_table calls;
  std::optional<stream_lease> kept;
  {
    const stream_pool pool{gpu};
    const stream_lease back = pool.acquire();
    kept = pool.acquire();
  }
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 1)
      << "only the returned stream is destroyed";
  kept->ref().sync();
  kept.reset();
  EXPECT_EQ(calls.count(&driver_table::cuStreamDestroy_v2), 2);
}

TEST_F(StreamPool, AClosedPoolThrowsClosed) {
  stream_pool pool{gpu};
  stream_lease lease = pool.acquire();
  lease.close();
  lease.close();
  EXPECT_TRUE(lease.closed());
  EXPECT_EQ(result_of([&] { lease->sync(); }), errc::closed);
  stream_pool moved = std::move(pool);
  EXPECT_EQ(result_of([&] { static_cast<void>(pool.acquire()); }),
            errc::closed);  // NOLINT(bugprone-use-after-move)
  moved.close();
  moved.close();
  EXPECT_TRUE(moved.closed());
  EXPECT_EQ(result_of([&] { static_cast<void>(moved.next()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(moved.count()); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(moved.device()); }), errc::closed);
}

// A host function may end a lease, but may not begin one.
TEST_F(StreamPool, HostFunctionsMayEndALeaseAndNotBeginOne) {
  const stream_pool pool{gpu, {.limit = 2}};
  std::optional<stream_lease> lease = pool.acquire();
  const stream s{gpu};
  errc result = errc::success;
  launch_host(s, [&] {
    lease.reset();
    result = result_of([&] { static_cast<void>(pool.acquire()); });
  });
  s.sync();
  EXPECT_EQ(result, errc::not_permitted);
  EXPECT_EQ(pool.count().leased, 0u);
}

TEST_F(StreamPool, ThreadsNeverShareALease) {
  const stream_pool pool{gpu, {{.name = "a", .limit = 3}, {.name = "b", .limit = 8}}};
  std::atomic<int> holders[2][1024]{};
  std::atomic<int> leased{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const std::string_view role = (t + i) % 2 == 0 ? "a" : "b";
        const std::optional<stream_lease> mine = pool.acquire_for(std::chrono::minutes{1}, role);
        ASSERT_TRUE(mine);
        std::atomic<int>& count = holders[(t + i) % 2][mine->ref().id() % 1024];
        EXPECT_EQ(count.fetch_add(1), 0);
        mine->ref().record(event{gpu});
        count.fetch_sub(1);
        ++leased;
        if (i % 10 == 0) static_cast<void>(pool.next(role));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(leased, 6 * 300);
  EXPECT_EQ(pool.count("a").leased, 0u);
  EXPECT_LE(pool.count("a").created, 3u);
}

TEST_F(StreamPool, AsManyThreadsAsStreamsAlwaysAcquireAStream) {
  constexpr unsigned many = 4;
  const stream_pool pool{gpu, {.limit = many}};
  std::atomic<int> missed{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < many; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        if (!pool.try_acquire()) ++missed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(missed, 0);
  EXPECT_EQ(pool.count().leased, 0u);
}

}  // namespace
}  // namespace weir
