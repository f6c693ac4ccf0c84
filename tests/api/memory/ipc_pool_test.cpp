// SPDX-License-Identifier: Apache-2.0
// ipc_pool_test.cpp - memory pools that two processes share.
#include <weir/core/deferred.hpp>
#include <weir/event/ipc_event.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/ipc_pool.hpp>
#include <weir/stream/host_function.hpp>
#include <weir/stream/stream.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"
#include "support/peer.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::failure_of;
using test::gate;
using test::result_of;

static_assert(!std::is_copy_constructible_v<ipc_pool_buffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<ipc_pool> &&
              std::is_nothrow_move_constructible_v<ipc_pool_buffer<int>>);

constexpr std::size_t elements = 1000;
constexpr memory_pool_options shared{.sharing = pool_sharing::file_descriptor};

// Creates a pool and memory that counts up from 100. Sends the pool's descriptor, the memory's
// handle and an event recorded behind the initialization, then sends the memory's sum on each
// request.
WEIR_PEER_ROLE(pool_maker) {
  const device gpu;
  const stream s{gpu};
  memory_pool pool{gpu, shared};
  const ipc_event made{gpu};
  buffer<std::uint32_t> memory{pool, s, elements};
  std::vector<std::uint32_t> values(elements);
  std::iota(values.begin(), values.end(), 100u);
  copy(s, values, memory);
  s.record(made);
  const int descriptor = export_fd(pool);
  test.send_descriptor(descriptor);
  close(descriptor);
  test.send(handle_of(memory));
  test.send(made.handle());
  for (char ask = 0; test.try_receive(ask);) {
    copy(s, memory, values);
    s.sync();
    test.send(std::accumulate(values.begin(), values.end(), std::uint32_t{0}));
  }
  // The process exits without a free: freeing memory that the other process still imports is
  // undefined.
  static_cast<void>(memory.release());
  static_cast<void>(pool.release());
}

// The other process, and the handles that it sent.
struct maker {
  maker()
      : line{std::make_unique<test::peer>("pool_maker")}, descriptor{line->receive_descriptor()} {
    handle = line->receive<pool_memory_handle>();
    made = line->receive<ipc_event_handle>();
  }
  maker(const maker&) = delete;
  maker& operator=(const maker&) = delete;
  ~maker() { close(descriptor); }

  std::unique_ptr<test::peer> line;
  int descriptor;
  pool_memory_handle handle{};
  ipc_event_handle made{};
};

class IpcPool : public ::testing::Test {
 protected:
  std::vector<std::uint32_t> contents(const ipc_pool_buffer<std::uint32_t>& of) {
    std::vector<std::uint32_t> values(of.size());
    copy(s, of, values);
    s.sync();
    return values;
  }

  device gpu;
  stream s{gpu};
};

TEST_F(IpcPool, TwoProcessesShareTheMemoryOfAPool) {
  const maker other;
  const ipc_pool pool = ipc_pool::import_fd(other.descriptor, gpu);
  EXPECT_EQ(pool.device(), gpu);
  ipc_pool_buffer<std::uint32_t> opened{pool, other.handle};
  ASSERT_EQ(opened.size(), elements);
  s.wait(ipc_event::open(other.made, gpu));
  EXPECT_EQ(contents(opened)[999], 1099u);
  fill(s, opened, 7u);
  s.sync();
  other.line->send('?');
  EXPECT_EQ(other.line->receive<std::uint32_t>(), 7 * elements);
}

TEST_F(IpcPool, AnImportedPoolOutlivesItsExporter) {
  maker other;
  const ipc_pool pool = ipc_pool::import_fd(other.descriptor, gpu);
  const ipc_pool_buffer<std::uint32_t> opened{pool, other.handle};
  ipc_event::open(other.made, gpu).sync();
  other.line.reset();
  EXPECT_EQ(contents(opened)[0], 100u);
}

TEST_F(IpcPool, TheCallerKeepsTheDescriptor) {
  const maker other;
  const ipc_pool pool = ipc_pool::import_fd(other.descriptor, gpu);
  EXPECT_GE(fcntl(other.descriptor, F_GETFD), 0);
  const memory_pool ours{gpu, shared};
  const int exported = export_fd(ours);
  EXPECT_EQ(fcntl(exported, F_GETFD), FD_CLOEXEC);
  const int again = export_fd(ours);
  EXPECT_NE(exported, again);
  EXPECT_EQ(close(exported), 0);
  EXPECT_EQ(close(again), 0);
}

// Both imports have one pool handle and one address, whose imports the driver counts. Each import
// is released when none of its memory is open.
TEST_F(IpcPool, MemoryImportedTwiceIsReleasedWithTheLastImport) {
  const maker other;
  ipc_event::open(other.made, gpu).sync();
  const fault_table calls;
  std::optional<ipc_pool> first{ipc_pool::import_fd(other.descriptor, gpu)};
  std::optional<ipc_pool> second{ipc_pool::import_fd(other.descriptor, gpu)};
  EXPECT_EQ(first->get(), second->get());
  ipc_pool_buffer<std::uint32_t> a{*first, other.handle};
  ipc_pool_buffer<std::uint32_t> b{*second, other.handle};
  EXPECT_EQ(a.data(), b.data());
  first.reset();
  a.close();
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 0);
  EXPECT_EQ(contents(b)[0], 100u);
  second.reset();
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 0);
  EXPECT_EQ(contents(b)[1], 101u);
  b.close();
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 2);
  const ipc_pool anew = ipc_pool::import_fd(other.descriptor, gpu);
  EXPECT_EQ(contents(ipc_pool_buffer<std::uint32_t>{anew, other.handle})[2], 102u);
  drain_deferred();
}

// Destroying the import does not block, and the memory stays until the work is done.
TEST_F(IpcPool, AnImportIsReleasedWhenItsWorkIsDone) {
  const maker other;
  const fault_table calls;
  {
    std::optional<ipc_pool> pool{ipc_pool::import_fd(other.descriptor, gpu)};
    std::optional<ipc_pool_buffer<std::uint32_t>> opened{std::in_place, *pool, other.handle};
    s.wait(ipc_event::open(other.made, gpu));
    gate held{s};
    fill(s, *opened, 9u);
    opened.reset();
    pool.reset();
    EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 0);
    EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 0);
  }
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemPoolDestroy), 1);
  other.line->send('?');
  EXPECT_EQ(other.line->receive<std::uint32_t>(), 9 * elements);
}

TEST_F(IpcPool, PoolsThatAreNotSharedAreRefused) {
  const memory_pool plain{gpu};
  EXPECT_EQ(result_of([&] { static_cast<void>(export_fd(plain)); }), errc::invalid_value);
  EXPECT_EQ(result_of([&] { static_cast<void>(export_fd(default_memory_pool(gpu))); }),
            errc::invalid_value);
  const buffer<int> of_plain{plain, s, elements};
  EXPECT_EQ(result_of([&] { static_cast<void>(handle_of(of_plain)); }), errc::invalid_value);
  const memory_pool pool{gpu, shared};
  buffer<int> x{pool, s, elements};
  EXPECT_EQ(result_of([&] { static_cast<void>(handle_of(x)); }), errc::invalid_value)
      << "the pool must be exported first";
  close(export_fd(pool));
  static_cast<void>(handle_of(x));
  EXPECT_EQ(result_of([&] { static_cast<void>(handle_of(x.data() + 1)); }), errc::invalid_value);
}

TEST_F(IpcPool, InvalidDescriptorsAndHandlesAreRefused) {
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_EQ(result_of([&] { static_cast<void>(ipc_pool::import_fd(nothing, gpu)); }),
            errc::unknown);
  EXPECT_EQ(close(nothing), 0) << "it is still ours";
  EXPECT_EQ(result_of([&] { static_cast<void>(ipc_pool::import_fd(-1, gpu)); }), errc::unknown);
  const maker other;
  const ipc_pool pool = ipc_pool::import_fd(other.descriptor, gpu);
  pool_memory_handle nonsense;
  std::memset(nonsense.bytes, 0x5a, sizeof nonsense.bytes);
  const auto failure = failure_of([&] { const ipc_pool_buffer<int> x(pool, nonsense); });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->result(), errc::invalid_value);
  EXPECT_NE(failure->hint().find("still open in the process that created"), std::string::npos)
      << failure->what();
}

TEST_F(IpcPool, MovedFromAndClosedPoolsThrowClosed) {
  const maker other;
  ipc_pool pool = ipc_pool::import_fd(other.descriptor, gpu);
  ipc_pool moved = std::move(pool);
  EXPECT_TRUE(pool.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
  EXPECT_EQ(result_of([&] { const ipc_pool_buffer<int> x(pool, other.handle); }), errc::closed);
  ipc_pool_buffer<std::uint32_t> x{moved, other.handle};
  ipc_pool_buffer<std::uint32_t> y = std::move(x);
  EXPECT_TRUE(x.closed());  // NOLINT(bugprone-use-after-move)
  x = std::move(y);
  EXPECT_EQ(x.size(), elements);
  moved.close();
  moved.close();
  x.close();
  x.close();
  EXPECT_EQ(x.data(), nullptr);
  EXPECT_EQ(result_of([&] { fill(s, x, 1u); }), errc::closed);
  EXPECT_EQ(result_of([&] { x.used_on(s); }), errc::closed);
  memory_pool gone{gpu, shared};
  gone.close();
  EXPECT_EQ(result_of([&] { static_cast<void>(export_fd(gone)); }), errc::closed);
}

TEST_F(IpcPool, HostFunctionsMayNotExportOrImport) {
  const memory_pool pool{gpu, shared};
  errc exporting = errc::success;
  errc importing = errc::success;
  launch_host(s, [&] {
    exporting = result_of([&] { static_cast<void>(export_fd(pool)); });
    importing = result_of([&] { static_cast<void>(ipc_pool::import_fd(-1, gpu)); });
  });
  s.sync();
  EXPECT_EQ(exporting, errc::not_permitted);
  EXPECT_EQ(importing, errc::not_permitted);
}

// Rule 170.
TEST_F(IpcPool, PoolSharingBreaksNoCapture) {
  const maker other;
  ipc_event::open(other.made, gpu).sync();
  const memory_pool pool{gpu, shared};
  const buffer<int> x{pool, s, elements};
  test::foreign_capture beside{s, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
  close(export_fd(pool));
  static_cast<void>(handle_of(x));
  {
    ipc_pool theirs = ipc_pool::import_fd(other.descriptor, gpu);
    ipc_pool_buffer<int> y{theirs, other.handle};
    y.close();
    theirs.close();
  }
  EXPECT_TRUE(beside.end());
}

}  // namespace
}  // namespace weir
