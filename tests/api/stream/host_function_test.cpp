// SPDX-License-Identifier: Apache-2.0
// host_function_test.cpp - host functions and callbacks: when they run, what they may do, and how
// they end.
#include <weir/core/deferred.hpp>
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/current_stream.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/sync_scope.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/gate.hpp"
#include "support/unhandled_errors.hpp"

namespace weir {
namespace {

using test::gate;
using test::result_of;
using test::unhandled_errors;

class HostFunction : public ::testing::Test {
 protected:
  ~HostFunction() override { drain_deferred(); }

  device gpu;
  stream s{gpu};
  stream t{gpu};
};

// Rule 72.
TEST_F(HostFunction, AFunctionRunsBetweenEarlierAndLaterWork) {
  pinned_buffer<std::uint32_t> words{2};
  words[0] = words[1] = 0;
  std::promise<void> entered;
  std::promise<void> leave;
  std::uint32_t before = 0;
  fill(s, words.data(), 1, 1u);
  launch_host(s, [&] {
    before = words[0];
    entered.set_value();
    leave.get_future().wait();
  });
  fill(s, words.data() + 1, 1, 2u);
  const event behind = s.record();
  entered.get_future().wait();
  EXPECT_FALSE(behind.done());
  EXPECT_EQ(std::atomic_ref{words[1]}.load(), 0u);
  leave.set_value();
  s.sync();
  EXPECT_EQ(before, 1u);
  EXPECT_EQ(words[1], 2u);
}

TEST_F(HostFunction, QueueingDoesNotBlock) {
  gate held{s};
  std::atomic<bool> ran{false};
  launch_host(s, [&] { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_FALSE(s.done());
  held.open();
  s.sync();
  EXPECT_TRUE(ran);
}

TEST_F(HostFunction, FunctionsRunOnceAndInOrder) {
  std::vector<int> order;  // functions of one stream never run concurrently
  for (int i = 0; i < 200; ++i) launch_host(s, [&order, i] { order.push_back(i); });
  s.sync();
  ASSERT_EQ(order.size(), 200u);
  for (int i = 0; i < 200; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST_F(HostFunction, AFunctionRunsOnAThreadOfTheDriver) {
  std::thread::id where;
  bool inside = false;
  launch_host(s, [&] {
    where = std::this_thread::get_id();
    inside = in_host_function();
  });
  s.sync();
  EXPECT_NE(where, std::this_thread::get_id());
  EXPECT_TRUE(inside);
  EXPECT_FALSE(in_host_function());
}

// Rule 78: streams that were joined before the function are synchronized, too.
TEST_F(HostFunction, WorkOfJoinedStreamsIsDoneBeforeTheFunctionRuns) {
  pinned_buffer<std::uint32_t> word{1};
  word[0] = 0;
  gate held{t};
  fill(t, word, 5u);
  s.wait(t);
  std::uint32_t seen = 0;
  launch_host(s, [&] { seen = word[0]; });
  held.open();
  s.sync();
  EXPECT_EQ(seen, 5u);
}

TEST_F(HostFunction, LaunchHostOnceTakesMoveOnlyFunctions) {
  auto value = std::make_unique<int>(5);
  int got = 0;
  launch_host_once(
      s, [&got, value = std::move(value)]() mutable { got = *std::exchange(value, nullptr); });
  s.sync();
  EXPECT_EQ(got, 5);
}

struct runs_as_rvalue {
  int* calls;
  void operator()() && { ++*calls; }
};
static_assert(!std::is_invocable_v<runs_as_rvalue&>);

TEST_F(HostFunction, LaunchHostOnceCallsAnRvalue) {
  int calls = 0;
  launch_host_once(s, runs_as_rvalue{&calls});
  s.sync();
  EXPECT_EQ(calls, 1);
}

// Rule 65, for work that succeeds.
TEST_F(HostFunction, ACallbackReceivesTheStatusOnce) {
  std::vector<errc> got;
  add_callback(s, [&](errc status) { got.push_back(status); });
  s.sync();
  EXPECT_EQ(got, std::vector{errc::success});
}

TEST_F(HostFunction, ACFunctionRunsWithItsData) {
  int calls = 0;
  launch_host(
      s, [](void* data) { ++*static_cast<int*>(data); }, &calls);
  s.sync();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(result_of([&] { launch_host(s, nullptr, &calls); }), errc::invalid_value);
}

// Objects that are destroyed in a host function are left to another thread.
TEST_F(HostFunction, HostFunctionsMayDestroyObjects) {
  const unhandled_errors unhandled;
  auto device_memory = std::make_unique<buffer<int>>(t, 100);
  auto pinned = std::make_unique<pinned_buffer<int>>(100);
  auto mark = std::make_unique<event>(gpu);
  auto timed = std::make_unique<timed_event>(gpu);
  auto owner = std::make_unique<stream>(gpu);
  auto kept = std::make_unique<context>(gpu);
  launch_host(s, [&] {
    device_memory.reset();
    pinned.reset();
    mark.reset();
    timed.reset();
    owner.reset();
    kept.reset();
  });
  s.sync();
  drain_deferred();
  EXPECT_EQ(deferred_count(), 0u);
  EXPECT_EQ(unhandled.count(), 0u);
}

// Rule 74.
TEST_F(HostFunction, HostFunctionsMayNotCallWeir) {
  buffer<int> x{t, 4};
  pinned_buffer<int> host{4};
  event mark{gpu};
  const timed_event a = t.record_timed();
  stream other{gpu};
  std::vector<std::pair<const char*, errc>> answers;
  launch_host(s, [&] {
    const auto note = [&](const char* what, const auto& call) {
      answers.emplace_back(what, result_of(call));
    };
    note("sync", [&] { t.sync(); });
    note("done", [&] { static_cast<void>(t.done()); });
    note("record", [&] { t.record(mark); });
    note("new record", [&] { static_cast<void>(t.record()); });
    note("wait event", [&] { t.wait(mark); });
    note("wait stream", [&] { t.wait(other); });
    note("sync_for", [&] { static_cast<void>(t.sync_for(std::chrono::seconds{1})); });
    note("id", [&] { static_cast<void>(t.id()); });
    note("stream", [&] { const stream made{gpu}; });
    note("close", [&] { other.close(); });
    note("shutdown", [&] { other.shutdown(); });
    note("event", [&] { const event made{gpu}; });
    note("event done", [&] { static_cast<void>(mark.done()); });
    note("event sync", [&] { mark.sync(); });
    note("event close", [&] { mark.close(); });
    note("elapsed", [&] { static_cast<void>(elapsed(a, a)); });
    note("buffer", [&] { const buffer<int> made{t, 4}; });
    note("pinned", [&] { const pinned_buffer<int> made{4}; });
    note("copy", [&] { copy(t, x, host); });
    note("fill", [&] { fill(t, x, 1); });
    note("launch_host", [&] { launch_host(t, [] {}); });
    note("sync_scope", [&] { sync_scope(t, [](stream_ref) {}); });
    note("context sync", [&] { gpu.primary_context().sync(); });
    note("device sync", [&] { gpu.sync(); });
    note("memory", [&] { static_cast<void>(gpu.memory()); });
    note("context_scope", [&] { const context_scope scope{gpu}; });
    note("current context", [&] { static_cast<void>(current_context()); });
    note("use", [&] { set_current_stream(t); });
    answers.emplace_back("status", t.status());
    answers.emplace_back("event status", mark.status());
    answers.emplace_back("status", gpu.primary_context().status());
  });
  s.sync();
  EXPECT_EQ(answers.size(), 31u);
  for (const auto& [what, answer] : answers) EXPECT_EQ(answer, errc::not_permitted) << what;
  EXPECT_FALSE(other.closed());
  t.sync();  // the stream still works
}

// Rule 76: functions of independent streams have no order and may run one at a time.
TEST_F(HostFunction, ManyStreamsRunFunctions) {
  std::vector<stream> streams;
  for (int i = 0; i < 16; ++i) streams.emplace_back(gpu);
  std::vector<int> counts(streams.size());
  for (int round = 0; round < 50; ++round) {
    for (std::size_t i = 0; i < streams.size(); ++i)
      launch_host(streams[i], [&counts, i] { ++counts[i]; });
  }
  for (const stream& any : streams) any.sync();
  EXPECT_EQ(counts, std::vector<int>(streams.size(), 50));
}

}  // namespace
}  // namespace weir
