// SPDX-License-Identifier: Apache-2.0
// name_test.cpp - names of objects: set, shown in texts and errors, and removed with the object.
#include <weir/core/to_string.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/profiler/name.hpp>
#include <weir/stream/host_function.hpp>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/profiler/names.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"

namespace weir {
namespace {

using detail::fault_table;
using test::failure_of;
using test::result_of;

class Name : public ::testing::Test {
 protected:
  ~Name() override { set_name(gpu, ""); }

  device gpu;
  stream s{gpu};
};

TEST_F(Name, ANameIsPartOfTheText) {
  const event mark{gpu};
  const memory_pool pool{gpu};
  EXPECT_EQ(name_of(s), "");
  set_name(s, "copies");
  set_name(mark, "ready");
  set_name(pool, "tensors");
  set_name(gpu, "left");
  EXPECT_EQ(name_of(s), "copies");
  EXPECT_EQ(name_of(stream_ref{s}), "copies");
  EXPECT_EQ(name_of(mark), "ready");
  EXPECT_EQ(name_of(pool), "tensors");
  EXPECT_EQ(name_of(gpu), "left");
  EXPECT_EQ(to_string(s).rfind("stream \"copies\" 0x", 0), 0u);
  EXPECT_EQ(to_string(mark).rfind("event \"ready\" 0x", 0), 0u);
  EXPECT_EQ(to_string(pool).rfind("memory pool \"tensors\" 0x", 0), 0u);
  EXPECT_EQ(to_string(gpu), "device 0 \"left\"");
}

// The legacy default stream has two handles and one name.
TEST_F(Name, DefaultStreamsHaveNames) {
  set_name(stream_ref::legacy(), "old");
  set_name(stream_ref::per_thread(), "mine");
  EXPECT_EQ(name_of(stream_ref{static_cast<CUstream_st*>(nullptr)}), "old");
  EXPECT_EQ(to_string(stream_ref::legacy()), "legacy default stream \"old\"");
  EXPECT_EQ(to_string(stream_ref::per_thread()), "per-thread default stream \"mine\"");
  set_name(stream_ref::legacy(), "");
  set_name(stream_ref::per_thread(), "");
  EXPECT_EQ(to_string(stream_ref::legacy()), "legacy default stream");
}

TEST_F(Name, ContextsHaveNames) {
  set_name(gpu.primary_context(), "everything");
  EXPECT_EQ(name_of(gpu.primary_context()), "everything");
  EXPECT_EQ(to_string(gpu.primary_context()).rfind("context \"everything\" 0x", 0), 0u);
  set_name(gpu.primary_context(), "");
  EXPECT_EQ(to_string(gpu.primary_context()).rfind("context 0x", 0), 0u);
}

TEST_F(Name, AnErrorShowsTheName) {
  set_name(s, "copies");
  const auto failure = failure_of([&] { const buffer<char> x{s, std::size_t{1} << 50}; });
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->object().find("\"copies\""), std::string::npos);
  EXPECT_NE(std::string{failure->what()}.find("\"copies\""), std::string::npos);
}

TEST_F(Name, ALaterNameReplacesAnEarlierName) {
  set_name(s, "first");
  set_name(s, "second");
  EXPECT_EQ(name_of(s), "second");
  set_name(s, "");
  EXPECT_EQ(name_of(s), "");
}

// A driver reuses handles.
TEST_F(Name, ANameEndsWithItsObject) {
  const int before = detail::name_count;
  stream_ref was{s};
  event_ref mark_was{nullptr};
  memory_pool_ref pool_was{nullptr, gpu};
  {
    stream t{gpu};
    event mark{gpu};
    event closed_mark{gpu};
    memory_pool pool{gpu};
    set_name(t, "short");
    set_name(mark, "lived");
    set_name(closed_mark, "closed");
    set_name(pool, "all");
    EXPECT_EQ(detail::name_count, before + 4);
    was = t;
    mark_was = mark;
    pool_was = pool;
    closed_mark.close();
  }
  EXPECT_EQ(name_of(was), "");
  EXPECT_EQ(name_of(mark_was), "");
  EXPECT_EQ(name_of(pool_was), "");
  EXPECT_EQ(detail::name_count, before);
}

TEST_F(Name, AMovedObjectKeepsItsName) {
  stream t{gpu};
  set_name(t, "moved");
  const stream moved = std::move(t);
  EXPECT_EQ(name_of(moved), "moved");
}

TEST_F(Name, AClosedObjectTakesNoName) {
  stream gone{gpu};
  gone.close();
  event mark{gpu};
  mark.close();
  memory_pool pool{gpu};
  pool.close();
  EXPECT_EQ(result_of([&] { set_name(gone, "late"); }), errc::closed);
  EXPECT_EQ(result_of([&] { set_name(mark, "late"); }), errc::closed);
  EXPECT_EQ(result_of([&] { set_name(pool, "late"); }), errc::closed);
  EXPECT_EQ(name_of(gone), "");
  EXPECT_EQ(to_string(gone), "closed stream");
}

TEST_F(Name, NamingMakesNoDriverCall) {
  const fault_table calls;
  set_name(s, "quiet");
  static_cast<void>(name_of(s));
  static_cast<void>(to_string(s));
  const profile_range range{"nobody listens"};
  profile_mark("nobody listens");
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(Name, AnyThreadMaySetAName) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const event mark{gpu};
        set_name(mark, "of thread " + std::to_string(t));
        set_name(s, "of any");
        EXPECT_EQ(name_of(mark), "of thread " + std::to_string(t));
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(name_of(s), "of any");
}

TEST_F(Name, HostFunctionsMaySetAName) {
  launch_host(s, [&] { set_name(s, "from inside"); });
  s.sync();
  EXPECT_EQ(name_of(s), "from inside");
}

TEST_F(Name, AThreadNameIsTruncatedForTheSystem) {
  std::thread{[] {
    set_thread_name("a name that is too long for it");
    char kept[16] = {};
    ::pthread_getname_np(::pthread_self(), kept, sizeof kept);
    EXPECT_STREQ(kept, "a name that is ");
  }}.join();
}

}  // namespace
}  // namespace weir
