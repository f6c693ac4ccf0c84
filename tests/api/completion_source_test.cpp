// completion_source_test.cpp - the ends of what an event marks, and of a launched graph.
#include <weir/capture.hpp>
#include <weir/completion.hpp>
#include <weir/event.hpp>
#include <weir/fill.hpp>
#include <weir/graph.hpp>
#include <weir/graph_exec.hpp>
#include <weir/pinned_buffer.hpp>
#include <weir/stream.hpp>

#include <future>
#include <optional>

#include <gtest/gtest.h>

#include "support/completion_ways.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using test::await;
using test::gate;
using test::result_of;

class CompletionSource : public test::completion_ways {};
INSTANTIATE_TEST_SUITE_P(Ways, CompletionSource, ::testing::Values(false, true), test::name_of_way);

TEST_P(CompletionSource, OfAnEvent) {
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

TEST_P(CompletionSource, OfAnEventThatEnds) {
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

TEST_P(CompletionSource, OfALaunch) {
  pinned_buffer<int> x{1};
  x.data()[0] = 0;
  const graph g = capture(s, [&](capture_scope& c) { fill(c.stream(), x, 3); });
  const graph_exec run = g.instantiate();
  run.upload_async(s).wait();
  gate held{s};
  const completion c = run.launch_async(s);
  EXPECT_FALSE(c.done());
  held.open();
  c.wait();
  EXPECT_EQ(x.data()[0], 3);
  stream captured{gpu};
  begin_capture(captured);
  EXPECT_EQ(result_of([&] { static_cast<void>(run.launch_async(captured)); }), errc::stream_capture_unsupported);
  static_cast<void>(end_capture(captured));
}

TEST_P(CompletionSource, OfALaunchInAClosedStreamIsRefused) {
  const graph g = capture(s, [](capture_scope&) {});
  const graph_exec run = g.instantiate();
  stream closed{gpu};
  closed.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(run.launch_async(closed)); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(run.upload_async(closed)); }), errc::closed);
}

}  // namespace
}  // namespace weir
