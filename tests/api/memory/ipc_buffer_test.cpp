// SPDX-License-Identifier: Apache-2.0
// ipc_buffer_test.cpp - device memory that two processes share.
#include <weir/event/ipc_event.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/ipc_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/foreign_capture.hpp"
#include "support/peer.hpp"

namespace weir {
namespace {

using test::failure_of;
using test::result_of;

static_assert(!std::is_copy_constructible_v<ipc_buffer<int>> &&
              std::is_nothrow_move_constructible_v<ipc_buffer<int>>);

constexpr std::size_t size = 1000;

// Creates memory that counts up from 100 and sends its handle, then sends the memory's sum on each
// request. The memory lives until the process exits: freeing it while the test may have it open
// would be undefined.
WEIR_PEER_ROLE(memory_maker) {
  const stream s{device{}};
  ipc_buffer<std::uint32_t> made{size};
  std::vector<std::uint32_t> values(size);
  std::iota(values.begin(), values.end(), 100u);
  copy(s, values, made);
  s.sync();
  test.send(made.handle());
  for (char ask = 0; test.try_receive(ask);) {
    copy(s, made, values);
    s.sync();
    test.send(std::accumulate(values.begin(), values.end(), std::uint32_t{0}));
  }
  std::_Exit(EXIT_SUCCESS);
}

// Opens the given memory and event. For each number, waits for the event, fills the memory with the
// number and records the event again.
WEIR_PEER_ROLE(filler) {
  const stream s{device{}};
  auto memory = ipc_buffer<std::uint32_t>::open(test.receive<ipc_memory_handle>());
  const ipc_event turn = ipc_event::open(test.receive<ipc_event_handle>(), device{});
  test.send(memory.size());
  while (true) {
    std::uint32_t value = 0;
    if (!test.try_receive(value)) return;
    s.wait(turn);
    fill(s, memory, value);
    s.record(turn);
    test.send(true);
  }
}

std::vector<std::uint32_t> contents(const stream& s, const ipc_buffer<std::uint32_t>& of) {
  std::vector<std::uint32_t> values(of.size());
  copy(s, of, values);
  s.sync();
  return values;
}

class IpcBuffer : public ::testing::Test {
 protected:
  device gpu_;
  stream s_{gpu_};
};

TEST_F(IpcBuffer, TwoProcessesShareOneMemory) {
  const test::peer maker{"memory_maker"};
  auto opened = ipc_buffer<std::uint32_t>::open(maker.receive<ipc_memory_handle>());
  EXPECT_TRUE(opened.opened());
  ASSERT_EQ(opened.size(), size);
  EXPECT_EQ(contents(s_, opened)[999], 1099u);
  fill(s_, opened, 7u);
  s_.sync();
  maker.send('?');
  EXPECT_EQ(maker.receive<std::uint32_t>(), 7 * size);
}

// Each process waits on the device for the work of the other, and the host does not wait in
// between.
TEST_F(IpcBuffer, IpcEventsOrderTheUsesOfTwoProcesses) {
  ipc_buffer<std::uint32_t> made{size};
  const ipc_event turn{gpu_};
  const test::peer other{"filler"};
  other.send(made.handle());
  other.send(turn.handle());
  ASSERT_EQ(other.receive<std::size_t>(), size);
  for (std::uint32_t round = 1; round <= 3; ++round) {
    fill(s_, made, 1u);
    s_.record(turn);
    other.send(round * 10);
    ASSERT_TRUE(other.receive<bool>());
    s_.wait(turn);
    EXPECT_EQ(contents(s_, made), std::vector<std::uint32_t>(size, round * 10));
  }
}

TEST_F(IpcBuffer, AnOpenedBufferOutlivesItsExporter) {
  auto maker = std::make_unique<test::peer>("memory_maker");
  const auto opened = ipc_buffer<std::uint32_t>::open(maker->receive<ipc_memory_handle>());
  maker.reset();
  EXPECT_EQ(contents(s_, opened)[0], 100u);
}

TEST_F(IpcBuffer, AnOpenedBufferHasNoHandle) {
  const test::peer maker{"memory_maker"};
  const auto opened = ipc_buffer<std::uint32_t>::open(maker.receive<ipc_memory_handle>());
  EXPECT_EQ(result_of([&] { static_cast<void>(opened.handle()); }), errc::invalid_value);
}

TEST_F(IpcBuffer, ABufferIsNotOpenedInTheProcessThatMadeIt) {
  const ipc_buffer<int> made{16};
  EXPECT_FALSE(made.opened());
  const ipc_memory_handle name = made.handle();
  EXPECT_EQ(result_of([&] { static_cast<void>(ipc_buffer<int>::open(name)); }),
            errc::invalid_context);
}

TEST_F(IpcBuffer, AnInvalidHandleIsRefused) {
  ipc_memory_handle nonsense;
  std::memset(nonsense.bytes, 0x5a, sizeof nonsense.bytes);
  const auto failure = failure_of([&] { static_cast<void>(ipc_buffer<int>::open(nonsense)); });
  ASSERT_TRUE(failure);
  EXPECT_NE(failure->hint().find("still open in the process that created it"), std::string::npos)
      << failure->what();
}

TEST_F(IpcBuffer, ABufferIsMovedAndClosed) {
  ipc_buffer<int> a{16};
  ipc_buffer<int> b = std::move(a);
  EXPECT_TRUE(a.closed());
  EXPECT_EQ(b.size(), 16u);
  fill(s_, b, 3);
  b.close();
  b.close();
  EXPECT_TRUE(b.closed());
  EXPECT_EQ(b.data(), nullptr);
  EXPECT_EQ(result_of([&] { static_cast<void>(b.handle()); }), errc::closed);
  EXPECT_EQ(result_of([&] { fill(s_, b, 3); }), errc::closed);
}

TEST_F(IpcBuffer, ClosingABufferBreaksNoCapture) {
  const test::peer maker{"memory_maker"};
  auto opened = ipc_buffer<std::uint32_t>::open(maker.receive<ipc_memory_handle>());
  ipc_buffer<std::uint32_t> made{16};
  fill(s_, made, 7u);
  EXPECT_EQ(contents(s_, opened)[0], 100u);
  const stream captured{device{}};
  test::foreign_capture foreign{captured, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  made.close();
  opened.close();
  EXPECT_TRUE(foreign.end()) << "it lives on";
  EXPECT_TRUE(made.closed() && opened.closed());
}

TEST_F(IpcBuffer, AnEmptyBufferOwnsNothing) {
  const ipc_buffer<int> nothing{0};
  EXPECT_TRUE(nothing.empty());
  EXPECT_EQ(nothing.data(), nullptr);
  EXPECT_EQ(result_of([&] { static_cast<void>(nothing.handle()); }), errc::invalid_value);
}

TEST_F(IpcBuffer, AnOversizedRequestThrowsOutOfMemory) {
  EXPECT_EQ(result_of([] { ipc_buffer<int>{std::numeric_limits<std::size_t>::max() / 2}; }),
            errc::out_of_memory);
}

}  // namespace
}  // namespace weir
