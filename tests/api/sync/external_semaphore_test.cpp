// SPDX-License-Identifier: Apache-2.0
// external_semaphore_test.cpp - imported semaphores that streams signal and wait for.
#include <weir/memory/buffer.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/sync/external_semaphore.hpp>

#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "support/errors.hpp"

namespace weir {
namespace {

using test::result_of;

// A GPU's semaphores come from a graphics library, so these tests run on the embedded device.
class ExternalSemaphore : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!gpu.is_embedded()) GTEST_SKIP() << "needs a Vulkan semaphore";
  }

  device gpu;
};

TEST_F(ExternalSemaphore, AStreamWaitsForTheHost) {
  const shared_semaphore shared;
  const external_semaphore semaphore{gpu, shared};
  const stream s{gpu};
  semaphore.wait(s, 2);
  const event behind = s.record();
  shared.signal(1);
  EXPECT_FALSE(behind.done());
  shared.signal(2);
  behind.sync();
}

TEST_F(ExternalSemaphore, TheHostWaitsForAStream) {
  const shared_semaphore shared;
  const external_semaphore semaphore{gpu, shared};
  const stream s{gpu};
  bool called = false;
  launch_host(s, [&] { called = true; });
  semaphore.signal(s, 9);
  s.sync();
  shared.wait(9);
  EXPECT_TRUE(called);
  EXPECT_EQ(shared.value(), 9u);
}

TEST_F(ExternalSemaphore, StreamsWaitForEachOther) {
  const shared_semaphore shared;
  const external_semaphore one{gpu, shared};
  const external_semaphore the_same{gpu, shared};
  const stream s{gpu};
  const stream t{gpu};
  the_same.wait(t, 1);
  const event behind = t.record();
  EXPECT_FALSE(behind.done());
  one.signal(s, 1);
  behind.sync();
}

// Each wait consumes one signal of a binary semaphore.
TEST_F(ExternalSemaphore, EachSignalReleasesOneWait) {
  const shared_semaphore shared{semaphore_kind::binary};
  const external_semaphore semaphore{gpu, shared};
  const stream s{gpu};
  semaphore.wait(s);
  const event first = s.record();
  semaphore.wait(s);
  const event second = s.record();
  shared.signal();
  first.sync();
  EXPECT_FALSE(second.done());
  shared.signal();
  second.sync();
  EXPECT_EQ(shared.value(), 0u);
}

// Streams that wait do not occupy the threads that other streams need.
TEST_F(ExternalSemaphore, WaitingStreamsDoNotBlockOtherStreams) {
  const shared_semaphore shared;
  const external_semaphore semaphore{gpu, shared};
  std::vector<stream> waiting;
  for (int i = 0; i < 64; ++i) {
    waiting.emplace_back(gpu);
    semaphore.wait(waiting.back(), 1);
  }
  const stream s{gpu};
  buffer<int> x{s, 1000};
  fill(s, x, 1);
  s.sync();
  for (const stream& w : waiting) EXPECT_FALSE(w.done());
  shared.signal(1);
  for (const stream& w : waiting) w.sync();
}

TEST_F(ExternalSemaphore, QueuedWorkOutlivesASemaphore) {
  const shared_semaphore shared;
  std::optional<external_semaphore> semaphore{std::in_place, gpu, shared};
  const stream s{gpu};
  semaphore->wait(s, 1);
  semaphore->signal(s, 2);
  semaphore.reset();
  shared.signal(1);
  s.sync();
  EXPECT_EQ(shared.value(), 2u);
}

TEST_F(ExternalSemaphore, AnImportTakesTheDescriptor) {
  const shared_semaphore shared;
  const int fd = shared.duplicate_fd();
  const external_semaphore semaphore{gpu, semaphore_kind::timeline, fd};
  EXPECT_NE(close(fd), 0);
  const stream s{gpu};
  semaphore.signal(s, 1);
  s.sync();
  EXPECT_EQ(shared.value(), 1u);
}

TEST_F(ExternalSemaphore, AWrongKindIsRefused) {
  const shared_semaphore shared;
  const int fd = shared.duplicate_fd();
  EXPECT_EQ(result_of([&] { external_semaphore(gpu, semaphore_kind::binary, fd); }), errc::unknown);
  EXPECT_EQ(close(fd), 0) << "the caller still owns the descriptor";
}

TEST_F(ExternalSemaphore, HostFunctionsMayDestroyASemaphoreAndNotSignalIt) {
  const shared_semaphore shared;
  std::optional<external_semaphore> semaphore{std::in_place, gpu, shared};
  const stream s{gpu};
  errc signalled = errc::success;
  launch_host(s, [&] {
    signalled = result_of([&] { semaphore->signal(s, 1); });
    semaphore.reset();
  });
  s.sync();
  EXPECT_EQ(signalled, errc::not_permitted);
}

TEST_F(ExternalSemaphore, MovedFromAndClosedSemaphoresThrowClosed) {
  const shared_semaphore shared;
  external_semaphore semaphore{gpu, shared};
  external_semaphore taken{std::move(semaphore)};
  const stream s{gpu};
  EXPECT_TRUE(semaphore.closed());
  EXPECT_EQ(result_of([&] { semaphore.signal(s, 1); }), errc::closed);
  semaphore = std::move(taken);
  semaphore.close();
  semaphore.close();
  EXPECT_EQ(result_of([&] { semaphore.wait(s, 1); }), errc::closed);
}

// This test runs on every driver.
TEST(ExternalSemaphores, AForeignDescriptorIsRefusedAndStaysOpen) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  for (const semaphore_kind kind : {semaphore_kind::timeline, semaphore_kind::binary}) {
    EXPECT_EQ(result_of([&] { external_semaphore(device{}, kind, ends[0]); }), errc::unknown);
  }
  EXPECT_EQ(close(ends[0]), 0);
  EXPECT_EQ(close(ends[1]), 0);
}

}  // namespace
}  // namespace weir
