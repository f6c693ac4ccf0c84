// SPDX-License-Identifier: Apache-2.0
// green_context_test.cpp - dividing a device's multiprocessors, and contexts that own a part of
// them.
#include <weir/device/green_context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/profiler/name.hpp>
#include <weir/stream/host_function.hpp>

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "green_context_fixture.hpp"
#include "support/errors.hpp"

namespace weir {
namespace {

using test::result_of;

using GreenContext = test::green_context_fixture;

TEST_F(GreenContext, TheWholeResourceHasAllMultiprocessorsOfTheDevice) {
  const sm_resource whole = sm_resource::query(gpu);
  EXPECT_EQ(static_cast<int>(whole.count()), gpu.attribute(device_attribute::multiprocessor_count));
  EXPECT_EQ(whole.device(), gpu);
  EXPECT_GT(whole.min_partition_size(), 0u);
  EXPECT_GT(whole.coscheduled_alignment(), 0u);
  EXPECT_EQ(sm_resource::query(gpu.primary_context()).count(), whole.count());
}

TEST_F(GreenContext, AMultiprocessorSplitMakesEqualGroupsAndKeepsTheRemainder) {
  const sm_resource whole = sm_resource::query(gpu);
  const unsigned least = whole.min_partition_size();
  const sm_split by = whole.split(3, least);
  ASSERT_EQ(by.groups.size(), 3u);
  unsigned total = by.remainder.count();
  for (const sm_resource& group : by.groups) {
    EXPECT_GE(group.count(), least);
    EXPECT_EQ(group.count(), by.groups[0].count());
    total += group.count();
  }
  EXPECT_EQ(total, whole.count());
}

TEST_F(GreenContext, AGroupOfAllMultiprocessorsLeavesNoRemainder) {
  const sm_resource whole = sm_resource::query(gpu);
  const sm_split by = whole.split(1, whole.count());
  ASSERT_EQ(by.groups.size(), 1u);
  EXPECT_EQ(by.groups[0].count(), whole.count());
  EXPECT_EQ(by.remainder.count(), 0u);
}

TEST_F(GreenContext, AMultiprocessorSplitReturnsAtMostThePossibleGroups) {
  const sm_resource whole = sm_resource::query(gpu);
  const unsigned most = whole.group_count(whole.min_partition_size());
  EXPECT_GT(most, 1u);
  EXPECT_EQ(whole.split(most + 10, whole.min_partition_size()).groups.size(), most);
}

TEST_F(GreenContext, IgnoringCoschedulingAllowsSmallerGroups) {
  const sm_resource whole = sm_resource::query(gpu);
  const sm_split apart = whole.split(1, 1, {.ignore_sm_coscheduling = true});
  EXPECT_LE(apart.groups.at(0).count(), whole.min_partition_size());
}

TEST_F(GreenContext, AnImpossibleMultiprocessorSplitIsRefused) {
  const sm_resource whole = sm_resource::query(gpu);
  EXPECT_EQ(result_of([&] { static_cast<void>(whole.split(1, whole.count() + 1)); }),
            errc::invalid_resource_configuration);
  EXPECT_EQ(result_of([&] { static_cast<void>(whole.split(0, 8)); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              static_cast<void>(whole.split(
                  1, 8, {.ignore_sm_coscheduling = true, .max_potential_cluster_size = true}));
            }),
            errc::invalid_value);
}

// Only the multiprocessors of a context can be divided further.
TEST_F(GreenContext, AGroupCanBeSplitOnlyThroughItsContext) {
  const sm_resource group = some(32);
  EXPECT_EQ(result_of([&] { static_cast<void>(group.split(1, 8)); }),
            errc::invalid_resource_configuration);
  const green_context green{group};
  const sm_split inner = green.multiprocessors().split(2, 16);
  EXPECT_EQ(inner.groups.size(), 2u);
}

TEST_F(GreenContext, AGreenContextHasTheMultiprocessorsOfItsResource) {
  const sm_resource group = some();
  const green_context green{group};
  const stream s{green};
  EXPECT_EQ(green.device(), gpu);
  EXPECT_EQ(green.multiprocessors().count(), group.count());
  EXPECT_EQ(sm_resource::query(green.context()).count(), group.count());
  EXPECT_EQ(sm_resource::query(s).count(), group.count());
  EXPECT_EQ(sm_resource::query(gpu).count(), sm_resource::query(gpu.primary_context()).count())
      << "the device keeps all multiprocessors";
}

TEST_F(GreenContext, SeveralResourcesFormOneGreenContext) {
  const sm_split by = sm_resource::query(gpu).split(2, 16);
  const green_context green{by.groups};
  EXPECT_EQ(green.multiprocessors().count(), by.groups[0].count() + by.groups[1].count());
  EXPECT_EQ(result_of([] { green_context{std::span<const sm_resource>{}}; }), errc::invalid_value);
}

TEST_F(GreenContext, GreenContextStreamsShareTheMemoryOfTheDevice) {
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

// Rule: functions without a context argument must not fall back to the primary context.
TEST_F(GreenContext, AStreamReportsItsGreenContext) {
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

TEST_F(GreenContext, ABlockingStreamOnAGreenContextIsRefused) {
  const green_context green{some()};
  EXPECT_EQ(result_of([&] {
              stream{green, {.kind = stream_kind::blocking}};
            }),
            errc::invalid_value);
}

TEST_F(GreenContext, ClosingAGreenContextRemovesItsName) {
  green_context green{some()};
  const context_ref context = green.context();
  set_name(context, "part");
  EXPECT_EQ(name_of(context), "part");
  green.close();
  EXPECT_EQ(name_of(context), "");
}

TEST_F(GreenContext, AGreenContextCanBeMadeCurrent) {
  const green_context green{some()};
  const context_scope current{green};
  EXPECT_EQ(current_context(), green.context());
  EXPECT_EQ(current_device(), gpu);
  const stream_ref legacy = stream_ref::legacy();
  legacy.sync();
  EXPECT_EQ(sm_resource::query(legacy).count(), green.multiprocessors().count());
  EXPECT_EQ(result_of([] { stream_ref::per_thread().sync(); }), errc::invalid_handle)
      << "a green context has no per-thread streams";
}

TEST_F(GreenContext, MovedFromAndClosedGreenContextsReportClosed) {
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

TEST_F(GreenContext, GreenContextCallsInAHostFunctionAreRefused) {
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

}  // namespace
}  // namespace weir
