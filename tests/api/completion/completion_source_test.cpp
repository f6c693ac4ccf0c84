// SPDX-License-Identifier: Apache-2.0
// completion_source_test.cpp - completions of events and of launched graphs.
#include <weir/capture/capture.hpp>
#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/sync_wait.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/device/device.hpp>
#include <weir/event/event.hpp>
#include <weir/graph/graph.hpp>
#include <weir/graph/graph_exec.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <chrono>
#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/completion_modes.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::await;
using test::gate;
using test::result_of;

class CompletionSource : public test::completion_modes {};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionSource, ::testing::Values(false, true),
                         test::name_of_mode);

TEST_P(CompletionSource, ACompletionOfAnEventFollowsItsLastRecord) {
  event e{gpu};
  EXPECT_TRUE(e.completion().done());  // never recorded
  gate held{s};
  s.record(e);
  const completion c = e.completion();
  const completion again = e.completion();
  EXPECT_FALSE(c.done());
  std::promise<errc> answer;
  await(c, answer);
  held.open();
  EXPECT_EQ(answer.get_future().get(), errc::success);
  again.wait();
}

TEST_P(CompletionSource, ACompletionOutlivesItsEvent) {
  gate held{s};
  std::optional<event> e{s.record()};
  event closed = s.record();
  const completion c = e->completion();
  const completion d = closed.completion();
  std::promise<errc> answer;
  await(c, answer);
  e.reset();
  closed.close();
  EXPECT_EQ(d.status(), errc::not_ready);
  held.open();
  EXPECT_EQ(answer.get_future().get(), errc::success);
  d.wait();
}

TEST_P(CompletionSource, LaunchAsyncReturnsACompletionOfTheLaunch) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  const graph g = capture(s, [&](capture_scope& c) { fill(c.stream(), x, 3); });
  const graph_exec run = g.instantiate();
  run.upload_with_completion(s).wait();
  gate held{s};
  const completion c = run.launch_with_completion(s);
  EXPECT_FALSE(c.done());
  held.open();
  c.wait();
  EXPECT_EQ(x.data()[0], 3);
}

// Both a valid and a broken capture refuse the launch, and nothing is recorded.
TEST_P(CompletionSource, LaunchAsyncIntoACapturingStreamIsRefused) {
  const graph g = capture(s, [](capture_scope&) {});
  const graph_exec run = g.instantiate();
  stream captured{gpu};
  const auto launch = [&] { static_cast<void>(run.launch_with_completion(captured)); };
  const auto upload = [&] { static_cast<void>(run.upload_with_completion(captured)); };
  begin_capture(captured);
  EXPECT_EQ(result_of(launch), errc::stream_capture_unsupported);
  EXPECT_EQ(result_of(upload), errc::stream_capture_unsupported);
  const graph nothing = end_capture(captured);
  EXPECT_TRUE(nothing.nodes().empty());
  begin_capture(captured);
  static_cast<void>(detail::driver().cuStreamQuery(captured.get()));  // breaks the capture
  EXPECT_EQ(result_of(launch), errc::stream_capture_invalidated);
  EXPECT_EQ(result_of(upload), errc::stream_capture_invalidated);
  EXPECT_EQ(result_of([&] { static_cast<void>(end_capture(captured)); }),
            errc::stream_capture_invalidated);
}

// A captured event marks no work that runs.
TEST_P(CompletionSource, ACompletionOfACapturedEventIsRefused) {
  stream captured{gpu};
  const event e{gpu};
  begin_capture(captured);
  captured.record(e);
  EXPECT_EQ(result_of([&] { static_cast<void>(e.completion()); }), errc::captured_event);
  const graph lives = end_capture(captured);
  EXPECT_EQ(result_of([&] { static_cast<void>(e.completion()); }), errc::invalid_value);
}

TEST_P(CompletionSource, LaunchAsyncIntoAClosedStreamIsRefused) {
  const graph g = capture(s, [](capture_scope&) {});
  const graph_exec run = g.instantiate();
  stream closed{gpu};
  closed.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(run.launch_with_completion(closed)); }),
            errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(run.upload_with_completion(closed)); }),
            errc::closed);
}

task<void> await_in_all_ways(stream_ref s) {
  const completion c = s.completion();
  co_await c;
  co_await s.completion().resume_on([](continuation work) { work(); });
  static_cast<void>(co_await s.completion().within(std::chrono::hours{1}));
  co_await when_all(s.completion(), s.record().completion());
  static_cast<void>(co_await when_any(s.completion(), c));
  static_cast<void>(co_await s.enqueue([] { return 1; }));
}

// Host functions and callbacks would delay the stream.
TEST(CompletionSourceCalls, CompletionsNeverUseHostFunctionsOrCallbacks) {
  const detail::fault_table counted;
  const stream s{device{}};
  {
    const gate held{s};
    s.completion().then([] {});
  }
  sync_wait(await_in_all_ways(s));
  s.completion().wait();
  const graph_exec run = capture(s, [](capture_scope&) {}).instantiate();
  run.launch_with_completion(s).wait();
  EXPECT_EQ(counted.count(&detail::driver_table::cuLaunchHostFunc), 0);
  EXPECT_EQ(counted.count(&detail::driver_table::cuStreamAddCallback), 0);
}

}  // namespace
}  // namespace weir
