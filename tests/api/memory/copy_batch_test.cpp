// SPDX-License-Identifier: Apache-2.0
// copy_batch_test.cpp - many copies in one call: what is copied, what is refused, and what stays
// unchanged. Longer than 400 lines, because every access order of sources has its own rules.
#include <weir/device/context.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy_batch.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/managed_buffer.hpp>
#include <weir/memory/memory_pool.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/host_function.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "api/core/call_restrictions.hpp"
#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::failure_of;
using test::gate;
using test::result_of;

static_assert(!std::is_copy_constructible_v<copy_batch> &&
              std::is_nothrow_move_constructible_v<copy_batch>);

// A batch refers to its arguments, so temporaries that own memory do not compile.
template <class Sources, class Targets>
concept can_add_each = requires(copy_batch& b, Sources&& sources, Targets&& targets) {
  b.add_each(std::forward<Sources>(sources), std::forward<Targets>(targets));
};
using spans = std::vector<std::span<int>>;
using vectors = std::vector<std::vector<int>>;
static_assert(can_add_each<spans, spans> && can_add_each<vectors&, spans> &&
              can_add_each<const vectors&, vectors&>);
static_assert(!can_add_each<vectors, spans> && !can_add_each<spans, vectors>);

class CopyBatch : public ::testing::Test {
 protected:
  static constexpr std::size_t size = 1000;

  device gpu;
  stream s{gpu};
  stream t{gpu};
  buffer<std::uint32_t> x{s, size};
  buffer<std::uint32_t> y{s, size};
  pinned_buffer<std::uint32_t> host{size};
  pinned_buffer<std::uint32_t> other_host{size};
};

TEST_F(CopyBatch, ABatchMakesOneDriverCall) {
  for (std::uint32_t& n : host) n = 1;
  for (std::uint32_t& n : other_host) n = 2;
  copy_batch batch;
  batch.add(host, x).add(other_host, y);
  EXPECT_EQ(batch.size(), 2u);
  const fault_table calls;
  batch.enqueue(s);
  EXPECT_EQ(calls.count(&driver_table::cuMemcpyBatchAsync_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemcpyAsync), 0);
  EXPECT_EQ(contents(s, x), std::vector<std::uint32_t>(size, 1u));
  EXPECT_EQ(contents(s, y), std::vector<std::uint32_t>(size, 2u));
}

TEST_F(CopyBatch, ABatchRunsInStreamOrder) {
  gate held{s};
  fill(s, x, 3u);
  fill(s, y, 4u);
  for (std::uint32_t& n : host) n = 0;
  copy_batch batch;
  batch.add(x, host).add(y, other_host);
  batch.enqueue(s);
  EXPECT_FALSE(s.sync_for(std::chrono::milliseconds{5}));
  EXPECT_EQ(host[0], 0u);
  held.open();
  s.sync();
  EXPECT_EQ(host[size - 1], 3u);
  EXPECT_EQ(other_host[size - 1], 4u);
}

// Work queued before a batch may write its source, even if that is pageable memory. The driver may
// block the call until that work is done, so another thread makes it.
TEST_F(CopyBatch, APageableSourceIsReadAfterEarlierWork) {
  for (const bool has_batch_call : {true, false}) {
    fault_table calls;
    if (!has_batch_call)
      calls.fail_from(&driver_table::cuMemcpyBatchAsync_v2, 1,
                      abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
    for (const std::size_t count : {std::size_t{1}, size}) {
      std::vector<std::uint32_t> source(count, 1);
      gate held{s};
      launch_host(s, [&] { std::ranges::fill(source, 2u); });
      copy_batch batch;
      batch.add(source, std::span{x.data(), count});
      auto enqueued = std::async(std::launch::async, [&] { batch.enqueue(s); });
      (void)enqueued.wait_for(std::chrono::milliseconds{20});  // for a call that does not block
      held.open();
      enqueued.get();
      EXPECT_EQ(contents(s, x).front(), 2u) << count << has_batch_call;
      EXPECT_EQ(contents(s, x)[count - 1], 2u) << count << has_batch_call;
    }
  }
}

// The call may wait for the stream to read a source, so the gate opens if the call does not return.
TEST_F(CopyBatch, ASourceReadDuringTheCallMayChangeAfterwards) {
  for (const std::size_t count : {size, std::size_t{40'000}}) {
    std::vector<std::uint32_t> pageable(count, 1);
    pinned_buffer<std::uint32_t> pinned{count};
    std::ranges::fill(pinned, 1u);
    for (const std::span<std::uint32_t> source : {std::span{pageable}, std::span{pinned}}) {
      buffer<std::uint32_t> target{s, count};
      copy_batch batch;
      batch.add(source, target, {.source_access = source_access_order::during_call});
      gate held{s};
      auto enqueued = std::async(std::launch::async, [&] { batch.enqueue(s); });
      if (enqueued.wait_for(std::chrono::milliseconds{20}) != std::future_status::ready)
        held.open();
      enqueued.get();
      std::ranges::fill(source, 2u);
      held.open();
      EXPECT_EQ(contents(s, target), std::vector<std::uint32_t>(count, 1u));
    }
  }
}

TEST_F(CopyBatch, ABatchMayBeEnqueuedAgain) {
  copy_batch batch;
  batch.add(host, x);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    for (std::uint32_t& n : host) n = round;
    batch.enqueue(s);
    EXPECT_EQ(contents(s, x).back(), round);
  }
}

TEST_F(CopyBatch, AnEmptyBatchDoesNothing) {
  copy_batch batch;
  std::span<std::uint32_t> none;
  batch.add(none, none);
  EXPECT_TRUE(batch.empty());
  const fault_table calls;
  batch.enqueue(s);
  batch.enqueue(stream_ref::legacy());
  EXPECT_EQ(calls.count_all(), 0);
}

TEST_F(CopyBatch, ClearRemovesAllCopiesAndOptions) {
  copy_batch batch;
  batch.add(host, x, {.source_access = source_access_order::any_time});
  batch.clear();
  EXPECT_TRUE(batch.empty());
  fill(s, y, 5u);
  batch.add(y, other_host);
  batch.enqueue(s);
  s.sync();
  EXPECT_EQ(other_host[0], 5u);
}

TEST_F(CopyBatch, AMovedFromBatchIsEmpty) {
  copy_batch batch;
  batch.add(host, x);
  copy_batch moved = std::move(batch);
  EXPECT_EQ(moved.size(), 1u);
  EXPECT_TRUE(batch.empty());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  batch.enqueue(s);
  batch.add(host, x);
  EXPECT_EQ(batch.size(), 1u);
}

// L7: the sizes of each pair must be equal.
TEST_F(CopyBatch, SizesThatDifferAreRefused) {
  copy_batch batch;
  const std::span<std::uint32_t> part{x.data(), size - 1};
  for (const auto& failure :
       {failure_of([&] { batch.add(host, part); }), failure_of([&] { batch.add(part, host); })}) {
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::invalid_value);
    EXPECT_NE(failure->hint().find("3996"), std::string::npos);
  }
  EXPECT_TRUE(batch.empty());
}

TEST_F(CopyBatch, ListsOfCopiesAreAddedCompletelyOrNotAtAll) {
  std::vector<std::vector<std::uint32_t>> sources{std::vector<std::uint32_t>(10, 1),
                                                  std::vector<std::uint32_t>(20, 2)};
  const std::vector<std::span<std::uint32_t>> targets{{x.data(), 10}, {y.data(), 20}};
  copy_batch batch;
  batch.add(host, x);
  batch.clear();
  batch.add_each(sources, targets);
  EXPECT_EQ(batch.size(), 2u);
  batch.enqueue(s);
  EXPECT_EQ(contents(s, x)[9], 1u);
  EXPECT_EQ(contents(s, y)[19], 2u);

  const std::vector<std::span<std::uint32_t>> too_few{{x.data(), 10}};
  const std::vector<std::span<std::uint32_t>> too_short{{x.data(), 10}, {y.data(), 19}};
  EXPECT_EQ(result_of([&] { batch.add_each(sources, too_few); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { batch.add_each(sources, too_short); }), errc::invalid_value);
  EXPECT_EQ(batch.size(), 2u);
}

// Each hint reaches the driver with its copies and does not change what is copied.
TEST_F(CopyBatch, LocationHintsReachTheDriverWithTheirCopies) {
  if (gpu.attribute(device_attribute::concurrent_managed_access) == 0)
    GTEST_SKIP() << "no concurrent access";
  managed_buffer<std::uint32_t> managed{size};
  for (std::uint32_t& n : managed) n = 6;
  copy_batch batch;
  batch.add(managed, x, {.source_hint = memory_location::host()});
  batch.add(managed, y, {.source_hint = memory_location{gpu}, .target_hint = memory_location{gpu}});
  batch.enqueue(s);
  EXPECT_EQ(contents(s, x), std::vector<std::uint32_t>(size, 6u));
  EXPECT_EQ(contents(s, y), std::vector<std::uint32_t>(size, 6u));
  const memory_location nowhere{device{99}};
  for (const copy_options wrong :
       {copy_options{.source_hint = nowhere}, copy_options{.target_hint = nowhere}}) {
    copy_batch refused;
    refused.add(host, x).add(other_host, y, wrong);
    EXPECT_EQ(result_of([&] { refused.enqueue(s); }), errc::invalid_value);
  }
}

// L7: one option applies to all copies, or each copy has its own.
TEST_F(CopyBatch, OptionsHoldForAllCopiesOrOneForEach) {
  std::vector<std::vector<std::uint32_t>> sources{std::vector<std::uint32_t>(10, 1),
                                                  std::vector<std::uint32_t>(20, 2),
                                                  std::vector<std::uint32_t>(30, 3)};
  const std::vector<std::span<std::uint32_t>> targets{
      {x.data(), 10}, {x.data() + 100, 20}, {y.data(), 30}};
  const std::array<copy_options, 3> each{
      copy_options{},
      {.source_access = source_access_order::during_call, .overlap_with_kernels = true},
      {.source_access = source_access_order::any_time}};
  copy_batch paired;
  paired.add_each(sources, targets, each);
  paired.enqueue(s);
  for (std::uint32_t& n : sources[1]) n = 9;  // this source was read during the call
  EXPECT_EQ(contents(s, x)[119], 2u);
  EXPECT_EQ(contents(s, y)[29], 3u);

  copy_batch same;
  same.add_each(sources, targets, copy_options{.source_access = source_access_order::during_call});
  same.enqueue(s);
  for (auto& source : sources) source.assign(source.size(), 7);
  EXPECT_EQ(contents(s, y)[29], 3u);
  EXPECT_EQ(result_of([&] { same.add_each(sources, targets, std::span{each}.first(2)); }),
            errc::invalid_value);
  EXPECT_EQ(same.size(), 3u);
}

// Rule 121.
TEST_F(CopyBatch, TheLegacyStreamIsRefused) {
  const context_scope current{gpu};
  copy_batch batch;
  batch.add(host, x);
  const fault_table calls;
  EXPECT_EQ(result_of([&] { batch.enqueue(stream_ref::legacy()); }), errc::invalid_value);
  EXPECT_EQ(calls.count(&driver_table::cuMemcpyBatchAsync_v2), 0);
  stream_ref::per_thread().wait(s);
  batch.enqueue(stream_ref::per_thread());
  stream_ref::per_thread().sync();
}

// Rule 121: the capture stays valid.
TEST_F(CopyBatch, ACapturingStreamIsRefused) {
  copy_batch batch;
  batch.add(host, x);
  {
    const test::foreign_capture foreign{s};
    EXPECT_EQ(result_of([&] { batch.enqueue(s); }), errc::stream_capture_unsupported);
  }
  {
    const test::foreign_capture foreign{s};
    const detail::scoped_active_capture through_weir;
    const fault_table calls;
    EXPECT_EQ(result_of([&] { batch.enqueue(s); }), errc::stream_capture_unsupported);
    EXPECT_EQ(calls.count(&driver_table::cuMemcpyBatchAsync_v2), 0);
    batch.enqueue(t);  // another stream does not capture
  }
  t.sync();
}

TEST_F(CopyBatch, HostFunctionsMayNotEnqueueABatch) {
  copy_batch batch;
  batch.add(host, x);
  errc enqueueing = errc::success;
  launch_host(s, [&] { enqueueing = result_of([&] { batch.enqueue(t); }); });
  s.sync();
  EXPECT_EQ(enqueueing, errc::not_permitted);
}

// As with copy(), a buffer tracks its use on another stream.
TEST_F(CopyBatch, AFreeWaitsForTheBatch) {
  std::optional<buffer<std::uint32_t>> z{std::in_place, s, size};
  fill(s, *z, 6u);
  t.wait(s);
  copy_batch batch;
  batch.add(*z, host);
  gate held{t};
  batch.enqueue(t);
  z.reset();
  EXPECT_FALSE(s.sync_for(std::chrono::milliseconds{5}));
  held.open();
  s.sync();
  t.sync();
  EXPECT_EQ(host[size - 1], 6u);
}

TEST_F(CopyBatch, ClosedMemoryIsRefused) {
  buffer<std::uint32_t> z{s, size};
  copy_batch batch;
  batch.add(z, host);
  z.close();
  EXPECT_EQ(result_of([&] { batch.enqueue(s); }), errc::closed);
  EXPECT_EQ(result_of([&] { batch.add(host, z); }), errc::closed);
  EXPECT_EQ(result_of([&] { batch.add(z, z); }), errc::closed);
  buffer<unsigned> longer{s, 3};
  EXPECT_EQ(result_of([&] { batch.add(longer, z); }), errc::closed);
  stream gone{gpu};
  gone.close();
  EXPECT_EQ(result_of([&] { batch.enqueue(gone); }), errc::closed);
}

// L7: with a driver that has no batches, weir copies one by one and keeps the options that it can.
TEST_F(CopyBatch, ADriverWithoutBatchesCopiesOneByOne) {
  fault_table faults;
  faults.fail_from(&driver_table::cuMemcpyBatchAsync_v2, 1,
                   abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
  for (std::uint32_t& n : host) n = 8;
  copy_batch batch;
  batch.add(host, x).add(host, y);
  batch.enqueue(s);
  EXPECT_EQ(faults.count(&driver_table::cuMemcpyAsync), 2);
  EXPECT_EQ(contents(s, y).back(), 8u);

  batch.add(host, x, {.source_access = source_access_order::during_call});
  EXPECT_EQ(result_of([&] { batch.enqueue(s); }), errc::call_requires_newer_driver);
  EXPECT_EQ(faults.count(&driver_table::cuMemcpyAsync), 3) << "contents() has made one copy";
  batch.clear();
  batch.add(host, x);
  test::foreign_capture foreign{s};
  EXPECT_EQ(result_of([&] { batch.enqueue(s); }), errc::stream_capture_unsupported);
  EXPECT_TRUE(foreign.end());
}

TEST_F(CopyBatch, ABatchCopiesBetweenDevices) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const stream far{device{1}};
  buffer<std::uint32_t> z{far, size};
  fill(s, x, 11u);
  fill(far, z, 12u);
  s.wait(far);
  copy_batch batch;
  batch.add(z, y).add(x, host);
  batch.enqueue(s);
  EXPECT_EQ(contents(s, y).back(), 12u);
  EXPECT_EQ(host[0], 11u);
}

// The driver accepts no pool memory of another device in a batch, also not on the memory's own
// stream.
TEST_F(CopyBatch, MemoryOfAnotherDevicesPoolIsCopiedWithoutABatch) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  const device peer{1};
  if (!gpu.can_access(peer)) GTEST_SKIP() << "the devices cannot reach each other";
  const memory_pool pool{peer};
  pool.set_access(gpu, pool_access::read_write);
  buffer<std::uint32_t> z{pool, s, size};
  for (std::uint32_t& n : host) n = 13;
  copy_batch batch;
  batch.add(host, z).add(z, other_host);
  const fault_table calls;
  for (int i = 0; i != 2; ++i) batch.enqueue(s);  // the second time finds the stream's earlier use
  batch.enqueue(t);
  batch.enqueue(t);
  EXPECT_EQ(calls.count(&driver_table::cuMemcpyBatchAsync_v2), 0);
  EXPECT_EQ(calls.count(&driver_table::cuMemcpyAsync), 8);
  t.sync();
  s.sync();
  EXPECT_EQ(other_host[0], 13u);

  batch.add(host, z, {.source_access = source_access_order::during_call});
  for (const stream_ref stream : {s.ref(), t.ref()}) {
    const auto failure = failure_of([&] { batch.enqueue(stream); });
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->result(), errc::call_requires_newer_driver);
    EXPECT_NE(std::string{failure->what()}.find("memory of another device"), std::string::npos)
        << failure->what();
  }
  EXPECT_EQ(calls.count(&driver_table::cuMemcpyAsync), 8) << "nothing is queued";
}

}  // namespace
}  // namespace weir
