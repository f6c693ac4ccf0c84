// green_context_test.cpp - a device divided, and contexts that have a part of it.
#include <weir/buffer.hpp>
#include <weir/capture.hpp>
#include <weir/capture_frontier.hpp>
#include <weir/capture_to.hpp>
#include <weir/copy.hpp>
#include <weir/deferred.hpp>
#include <weir/fill.hpp>
#include <weir/graph_exec.hpp>
#include <weir/green_context.hpp>
#include <weir/host_function.hpp>
#include <weir/name.hpp>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/failing.hpp"
#include "support/errors.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::failing_table;
using test::gate;
using test::result_of;

class GreenContext : public ::testing::Test {
 protected:
  [[nodiscard]] sm_part some(unsigned least = 16) const { return sm_part::of(gpu).split(1, least).groups.at(0); }

  device gpu;
};

TEST_F(GreenContext, TheWholeIsWhatTheDeviceHas) {
  const sm_part whole = sm_part::of(gpu);
  EXPECT_EQ(static_cast<int>(whole.count()), gpu.attribute(device_attribute::multiprocessor_count));
  EXPECT_EQ(whole.device(), gpu);
  EXPECT_GT(whole.smallest_part(), 0u);
  EXPECT_GT(whole.step(), 0u);
  EXPECT_EQ(sm_part::of(gpu.primary_context()).count(), whole.count());
}

TEST_F(GreenContext, GroupsAreEqualAndNothingIsLost) {
  const sm_part whole = sm_part::of(gpu);
  const unsigned least = whole.smallest_part();
  const sm_split by = whole.split(3, least);
  ASSERT_EQ(by.groups.size(), 3u);
  unsigned total = by.rest.count();
  for (const sm_part& group : by.groups) {
    EXPECT_GE(group.count(), least);
    EXPECT_EQ(group.count(), by.groups[0].count());
    total += group.count();
  }
  EXPECT_EQ(total, whole.count());
}

TEST_F(GreenContext, AGroupOfAllLeavesNothing) {
  const sm_part whole = sm_part::of(gpu);
  const sm_split by = whole.split(1, whole.count());
  ASSERT_EQ(by.groups.size(), 1u);
  EXPECT_EQ(by.groups[0].count(), whole.count());
  EXPECT_EQ(by.rest.count(), 0u);
}

TEST_F(GreenContext, NoMoreGroupsThanThereCanBe) {
  const sm_part whole = sm_part::of(gpu);
  const unsigned most = whole.groups_of(whole.smallest_part());
  EXPECT_GT(most, 1u);
  EXPECT_EQ(whole.split(most + 10, whole.smallest_part()).groups.size(), most);
}

TEST_F(GreenContext, PartsAreSmallerWhereTheyNeedNotBeTogether) {
  const sm_part whole = sm_part::of(gpu);
  const sm_split apart = whole.split(1, 1, {.ignore_coscheduling = true});
  EXPECT_LE(apart.groups.at(0).count(), whole.smallest_part());
}

TEST_F(GreenContext, MoreThanThereIsIsRefused) {
  const sm_part whole = sm_part::of(gpu);
  EXPECT_EQ(result_of([&] { static_cast<void>(whole.split(1, whole.count() + 1)); }),
            errc::invalid_resource_configuration);
  EXPECT_EQ(result_of([&] { static_cast<void>(whole.split(0, 8)); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(whole.split(1, 8, {.ignore_coscheduling = true, .for_the_largest_clusters = true}));
            }),
            errc::invalid_value);
}

// Only what a context has can be divided again.
TEST_F(GreenContext, AGroupIsDividedThroughItsContext) {
  const sm_part group = some(32);
  EXPECT_EQ(result_of([&] { static_cast<void>(group.split(1, 8)); }), errc::invalid_resource_configuration);
  const green_context green{group};
  const sm_split inner = green.multiprocessors().split(2, 16);
  EXPECT_EQ(inner.groups.size(), 2u);
}

TEST_F(GreenContext, AContextHasItsPart) {
  const sm_part group = some();
  const green_context green{group};
  const stream s{green};
  EXPECT_EQ(green.device(), gpu);
  EXPECT_EQ(green.multiprocessors().count(), group.count());
  EXPECT_EQ(sm_part::of(green.context()).count(), group.count());
  EXPECT_EQ(sm_part::of(s).count(), group.count());
  EXPECT_EQ(sm_part::of(gpu).count(), sm_part::of(gpu.primary_context()).count()) << "the device is as it was";
}

TEST_F(GreenContext, SeveralPartsMakeOneContext) {
  const sm_split by = sm_part::of(gpu).split(2, 16);
  const green_context green{by.groups};
  EXPECT_EQ(green.multiprocessors().count(), by.groups[0].count() + by.groups[1].count());
  EXPECT_EQ(result_of([] { green_context{std::span<const sm_part>{}}; }), errc::invalid_value);
}

TEST_F(GreenContext, ItsStreamsWorkOnTheMemoryOfAll) {
  const green_context green{some()};
  const stream s{green};
  const stream t{gpu};
  buffer<int> x{s, 100};
  fill(s, x, 7);
  t.wait(s);
  std::vector<int> host(100);
  copy(t, x, host);
  t.sync();
  EXPECT_EQ(host, std::vector<int>(100, 7));
  bool called = false;
  launch_host(s, [&] { called = true; });
  s.sync();
  EXPECT_TRUE(called);
}

// Rule: helpers without a context must not fall back to the primary one.
TEST_F(GreenContext, AStreamKnowsItsContext) {
  const green_context green{some()};
  const stream s{green, {.priority = gpu.priorities().greatest}};
  EXPECT_EQ(s.context(), green.context());
  EXPECT_NE(s.context(), gpu.primary_context());
  EXPECT_EQ(stream_ref{s.get()}.context(), green.context());
  EXPECT_EQ(s.device(), gpu);
  EXPECT_FALSE(s.is_blocking());
  EXPECT_EQ(s.priority(), gpu.priorities().greatest);
  const event e = s.record();
  s.sync();
  EXPECT_TRUE(e.done());
}

TEST_F(GreenContext, ABlockingStreamIsRefused) {
  const green_context green{some()};
  EXPECT_EQ(result_of([&] { stream{green, {.kind = stream_kind::blocking}}; }), errc::invalid_value);
}

TEST_F(GreenContext, AStreamKeepsItsContextAlive) {
  const failing_table calls;
  std::optional<green_context> green{some()};
  std::optional<stream> s{*green};
  std::optional<stream> t{*green};
  green.reset();
  buffer<int> x{*s, 10};
  fill(*s, x, 1);
  s->sync();
  x.close();
  s.reset();
  EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 0);
  EXPECT_EQ(sm_part::of(*t).count(), some().count());
  t.reset();
  EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 1);
}

// A driver lets go of what a graph keeps in its own time.
[[nodiscard]] bool is_destroyed_once(const failing_table& calls) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{60};
  while (calls.count(&driver_table::cuGreenCtxDestroy) == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  return calls.count(&driver_table::cuGreenCtxDestroy) == 1;
}

// A graph is instantiated in the context that it was captured in, and its nodes are of that.
TEST_F(GreenContext, AGraphOfItsStreamKeepsItAlive) {
  const stream s{gpu};
  int runs = 0;
  const failing_table calls;
  {
    std::optional<green_context> part{std::in_place, some()};
    std::optional<stream> in_part{std::in_place, *part};
    std::optional<graph> recorded{capture(*in_part, [&] { launch_host(*in_part, [&runs] { ++runs; }); })};
    in_part.reset();
    part.reset();
    const graph_exec run = recorded->instantiate();
    recorded.reset();
    run.launch(s);
    s.sync();
    EXPECT_EQ(runs, 1);
    drain_deferred();
    EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 0);
  }
  EXPECT_TRUE(is_destroyed_once(calls));
  drain_deferred();
}

// And so does an executable, which an update makes let go of what its graph keeps: it may have to be made anew there.
TEST_F(GreenContext, AnExecutableKeepsItAlive) {
  const stream s{gpu};
  int runs = 0;
  const auto count = [&runs] { ++runs; };
  const failing_table calls;
  {
    std::optional<graph_exec> run;
    {
      const green_context part{some()};
      const stream in_part{part};
      run = capture(in_part, [&] { launch_host(in_part, count); }).instantiate();
    }
    ASSERT_TRUE(run->update(capture(s, [&] { launch_host(s, count); })));
    run->launch(s);
    s.sync();
    drain_deferred();
    EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 0);
    const graph longer = capture(s, [&] {
      launch_host(s, count);
      launch_host(s, count);
    });
    EXPECT_FALSE(run->update_or_reinstantiate(longer));
    run->launch(s);
    s.sync();
    EXPECT_EQ(runs, 3);
  }
  EXPECT_TRUE(is_destroyed_once(calls));
  drain_deferred();
}

// What is added to it in another context's stream changes nothing of that.
TEST_F(GreenContext, AGraphThatIsCapturedIntoIsStillOfTheContextThatItWasCapturedIn) {
  const stream s{gpu};
  int runs = 0;
  const auto count = [&runs] { ++runs; };
  const failing_table calls;
  {
    std::optional<graph_exec> run;
    {
      const green_context part{some()};
      const stream in_part{part};
      graph recorded = capture(in_part, [&] { launch_host(in_part, count); });
      begin_capture_to(s, std::move(recorded));
      launch_host(s, count);
      run = end_capture(s).instantiate();
    }
    ASSERT_TRUE(run->update(capture(s,
                                    [&] {
                                      launch_host(s, count);
                                      update_capture_dependencies(s, {}, dependency_update::set);
                                      launch_host(s, count);
                                    },
                                    {.join_forks = true})));
    run->launch(s);
    s.sync();
    EXPECT_EQ(runs, 2);
    drain_deferred();
    EXPECT_EQ(calls.count(&driver_table::cuGreenCtxDestroy), 0);
  }
  EXPECT_TRUE(is_destroyed_once(calls));
  drain_deferred();
}

// All contexts of a device share its memory.
TEST_F(GreenContext, ABufferThatWentToAnotherStreamOutlivesIt) {
  std::optional<green_context> green{some()};
  std::optional<stream> s{*green};
  const stream t{gpu};
  buffer<int> x{*s, 10};
  fill(*s, x, 7);
  x.set_stream(t);
  s.reset();
  green.reset();
  buffer<int> y{t, 10};
  std::vector<int> host(10);
  copy(t, x, y);
  copy(t, y, host);
  t.sync();
  EXPECT_EQ(host, std::vector<int>(10, 7));
}

TEST_F(GreenContext, ItsNameGoesWithIt) {
  green_context green{some()};
  const context_ref context = green.context();
  set_name(context, "part");
  EXPECT_EQ(name_of(context), "part");
  green.close();
  EXPECT_EQ(name_of(context), "");
}

TEST_F(GreenContext, ItsMarkCoversItsStreamsOnly) {
  const green_context green{some()};
  const stream in{green};
  const stream also_in{green};
  const stream outside{gpu};
  const event mark{gpu};
  gate held_outside{outside};
  green.record(mark);
  mark.sync();
  gate held{also_in};
  green.record(mark);
  EXPECT_FALSE(mark.done());
  held.open();
  mark.sync();
  held_outside.open();
  outside.sync();
}

TEST_F(GreenContext, ItsWaitHoldsAllItsStreams) {
  const green_context green{some()};
  const stream in{green};
  const stream outside{gpu};
  gate held{outside};
  const event mark = outside.record();
  green.wait(mark);
  const stream made_later{green};
  const event first = in.record();
  const event second = made_later.record();
  EXPECT_FALSE(first.done());
  EXPECT_FALSE(second.done());
  held.open();
  first.sync();
  second.sync();
}

TEST_F(GreenContext, ADeviceWaitsForItsStreams) {
  const green_context green{some()};
  const stream s{green};
  gate held{s};
  const event mark = s.record();
  held.open();
  gpu.sync();
  EXPECT_TRUE(mark.done());
}

TEST_F(GreenContext, WhileItIsCurrent) {
  const green_context green{some()};
  const context_scope current{green};
  EXPECT_EQ(current_context(), green.context());
  EXPECT_EQ(current_device(), gpu);
  const stream_ref legacy = stream_ref::legacy();
  legacy.sync();
  EXPECT_EQ(sm_part::of(legacy).count(), green.multiprocessors().count());
  EXPECT_EQ(result_of([] { stream_ref::per_thread().sync(); }), errc::invalid_handle) << "threads have none there";
}

TEST_F(GreenContext, MovedFromAndClosedOnesSaySo) {
  green_context green{some()};
  green_context taken{std::move(green)};
  EXPECT_TRUE(green.closed());
  EXPECT_EQ(green.get(), nullptr);
  EXPECT_EQ(result_of([&] { static_cast<void>(green.context()); }), errc::closed);
  green = std::move(taken);
  EXPECT_FALSE(green.closed());
  green.close();
  green.close();
  const event mark{gpu};
  EXPECT_EQ(result_of([&] { green.record(mark); }), errc::closed);
  EXPECT_EQ(result_of([&] { static_cast<void>(green.multiprocessors()); }), errc::closed);
  const unsigned here = __LINE__ + 1;
  const auto refused = test::failure_of([&] { stream{green}; });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->result(), errc::closed);
  EXPECT_EQ(refused->where().line(), here);
}

TEST_F(GreenContext, InAHostFunctionItIsRefusedAndEndsLater) {
  std::optional<green_context> green{some()};
  const stream s{gpu};
  errc asked = errc::success;
  launch_host(s, [&] {
    asked = result_of([&] { static_cast<void>(green->multiprocessors()); });
    green.reset();
  });
  s.sync();
  EXPECT_EQ(asked, errc::not_permitted);
  EXPECT_FALSE(green);
}

// Marks of all of its streams would break the capture of one.
TEST_F(GreenContext, MarksOfTheWholeAreRefusedWhileAStreamOfItCaptures) {
  const green_context half{some()};
  const stream s{half};
  const event mark{gpu};
  const graph g = capture(s, [&] {
    EXPECT_EQ(result_of([&] { half.record(mark); }), errc::stream_capture_unsupported);
    EXPECT_EQ(result_of([&] { half.wait(mark); }), errc::stream_capture_unsupported);
  });
  EXPECT_EQ(g.node_count(), 0u);
}

// An event is part of a capture until it is recorded again, also by all streams of a part.
TEST_F(GreenContext, AMarkOfTheWholeTakesAnEventOutOfACapture) {
  const green_context half{some()};
  const stream s{gpu};
  const event mark{gpu};
  const graph g = capture(s, [&] {
    s.record(mark);
    half.record(mark);
    EXPECT_EQ(result_of([&] { mark.sync(); }), errc::success);
  });
  EXPECT_EQ(g.node_count(), 0u);
}

}  // namespace
}  // namespace weir
