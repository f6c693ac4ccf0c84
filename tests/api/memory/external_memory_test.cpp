// SPDX-License-Identifier: Apache-2.0
// external_memory_test.cpp - memory of other interfaces: imported once, mapped in parts, released
// when unused.
#include <weir/core/deferred.hpp>
#include <weir/core/sync_guard.hpp>
#include <weir/memory/buffer.hpp>
#include <weir/memory/copy.hpp>
#include <weir/memory/external_memory.hpp>
#include <weir/memory/fill.hpp>
#include <weir/stream/host_function.hpp>

#include <sys/mman.h>

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "support/device_copy.hpp"
#include "support/errors.hpp"
#include "support/fault_table.hpp"
#include "support/foreign_capture.hpp"
#include "support/gate.hpp"
#include "support/shared_allocation.hpp"

namespace weir {
namespace {

using detail::driver_table;
using detail::fault_table;
using test::contents;
using test::gate;
using test::is_open;
using test::result_of;
using test::shared_allocation;

static_assert(std::is_nothrow_move_constructible_v<external_memory>);
static_assert(!std::is_copy_constructible_v<mapped_buffer<int>>);
static_assert(std::is_nothrow_move_constructible_v<mapped_buffer<int>>);

class ExternalMemory : public ::testing::Test {
 protected:
  // The number of words of a buffer of one piece.
  [[nodiscard]] std::size_t words() const { return theirs.piece() / sizeof(std::uint32_t); }
  [[nodiscard]] external_memory import() const {
    return external_memory::import_fd(theirs.descriptor(), theirs.bytes(), gpu);
  }
  [[nodiscard]] std::uint32_t word_at(std::size_t offset) const {
    std::vector<std::uint32_t> host(1);
    copy(s, theirs.at<std::uint32_t>(offset, 1), host);
    s.sync();
    return host[0];
  }

  device gpu;
  stream s{gpu};
  shared_allocation theirs{gpu, 2};
};

TEST_F(ExternalMemory, AnImportMapsTheMemoryOfTheExporter) {
  const external_memory memory = import();
  EXPECT_EQ(memory.size_bytes(), theirs.bytes());
  EXPECT_EQ(memory.device(), gpu);
  mapped_buffer<std::uint32_t> ours{memory, 0, words()};
  EXPECT_EQ(ours.size(), words());
  EXPECT_EQ(ours.size_bytes(), theirs.piece());
  fill(s, ours, 71u);
  EXPECT_EQ(word_at(theirs.piece() - sizeof(std::uint32_t)), 71u);
  fill(s, theirs.at<std::uint32_t>(0, 4), 72u);
  EXPECT_EQ(contents(s, ours)[3], 72u);
}

TEST_F(ExternalMemory, AnImportIsMappedInParts) {
  const external_memory memory = import();
  mapped_buffer<std::uint32_t> front{memory, 0, words()};
  mapped_buffer<std::uint32_t> back{memory, theirs.piece(), words()};
  fill(s, front, 1u);
  fill(s, back, 2u);
  EXPECT_EQ(word_at(0), 1u);
  EXPECT_EQ(word_at(theirs.piece()), 2u);
}

TEST_F(ExternalMemory, AnImportTakesTheDescriptorUnlessItFails) {
  const int good = theirs.descriptor();
  const external_memory memory = external_memory::import_fd(good, theirs.bytes(), gpu);
  EXPECT_FALSE(is_open(good));
  const int bad = open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_NE(result_of([&] { (void)external_memory::import_fd(bad, theirs.bytes(), gpu); }),
            errc::success);
  EXPECT_TRUE(is_open(bad));
  close(bad);
  EXPECT_NE(result_of([&] { (void)external_memory::import_fd(-1, theirs.bytes(), gpu); }),
            errc::success);
}

TEST_F(ExternalMemory, AMappingKeepsTheImportAlive) {
  const fault_table calls;
  std::optional<external_memory> memory{import()};
  mapped_buffer<std::uint32_t> ours{*memory, 0, words()};
  mapped_buffer<std::uint32_t> more{*memory, theirs.piece(), words()};
  memory.reset();
  EXPECT_EQ(calls.count(&driver_table::cuDestroyExternalMemory), 0);
  fill(s, ours, 5u);
  s.sync();
  EXPECT_EQ(word_at(0), 5u);
  ours.close();
  EXPECT_EQ(calls.count(&driver_table::cuDestroyExternalMemory), 0);
  more.close();
  EXPECT_EQ(calls.count(&driver_table::cuDestroyExternalMemory), 1);
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 2);
}

TEST_F(ExternalMemory, MappingsAndImportsAreReleasedOnce) {
  const fault_table calls;
  {
    external_memory memory = import();
    external_memory moved = std::move(memory);
    EXPECT_TRUE(memory.closed());  // NOLINT(bugprone-use-after-move): what a moved-from one answers
    mapped_buffer<int> ours{moved, 0, words()};
    mapped_buffer<int> taken = std::move(ours);
    EXPECT_TRUE(ours.closed());  // NOLINT(bugprone-use-after-move)
    ours = std::move(taken);
    EXPECT_FALSE(ours.closed());
    moved.close();
    moved.close();
    ours.close();
    ours.close();
  }
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuDestroyExternalMemory), 1);
}

TEST_F(ExternalMemory, ClosedImportsAndMappingsThrowClosed) {
  external_memory memory = import();
  mapped_buffer<std::uint32_t> ours{memory, 0, words()};
  buffer<std::uint32_t> x{s, words()};
  memory.close();
  ours.close();
  EXPECT_EQ(memory.size_bytes(), 0u);
  EXPECT_EQ(ours.data(), nullptr);
  EXPECT_EQ(ours.size(), 0u);
  EXPECT_EQ(result_of([&] { const mapped_buffer<int> y{memory, 0, 1}; }), errc::closed);
  EXPECT_EQ(result_of([&] { copy(s, ours, x); }), errc::closed);
  EXPECT_EQ(result_of([&] { fill(s, ours, 1u); }), errc::closed);
  EXPECT_EQ(result_of([&] { ours.used_on(s); }), errc::closed);
}

TEST_F(ExternalMemory, OnlyWholeElementsAreMapped) {
  const external_memory memory = import();
  EXPECT_EQ(result_of([&] { const mapped_buffer<int> none{memory, 0, 0}; }), errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              const mapped_buffer<int> odd{memory, 2, words()};
            }),
            errc::invalid_value);
  EXPECT_EQ(result_of([&] {
              const mapped_buffer<int> far{memory, 0, ~std::size_t{0} / 2};
            }),
            errc::invalid_value);
}

// Destroying the mapping does not block, and the memory stays until the work is done.
TEST_F(ExternalMemory, AMappingIsReleasedWhenItsWorkIsDone) {
  const fault_table calls;
  {
    gate held{s};
    {
      const external_memory memory = import();
      mapped_buffer<std::uint32_t> ours{memory, 0, words()};
      fill(s, ours, 9u);
    }
    EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 0);
    EXPECT_EQ(calls.count(&driver_table::cuDestroyExternalMemory), 0);
  }
  drain_deferred();
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuDestroyExternalMemory), 1);
  EXPECT_EQ(word_at(0), 9u);
}

// Closing waits for the work that uses the mapping.
TEST_F(ExternalMemory, AMappingIsNotClosedWhereTheHostMustNotWait) {
  mapped_buffer<std::uint32_t> x{import(), 0, 1};
  {
    const sync_guard none{sync_rule::forbidden};
    EXPECT_EQ(result_of([&] { x.close(); }), errc::not_permitted);
  }
  EXPECT_FALSE(x.closed());
  x.close();
}

// Releasing an import is an unsafe call in a capture, but breaks none, so weir allows it at any
// time.
TEST_F(ExternalMemory, ClosingTheImportBreaksNoCapture) {
  for (const auto mode :
       {abi::CU_STREAM_CAPTURE_MODE_GLOBAL, abi::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL}) {
    external_memory memory = import();
    const fault_table calls;
    test::foreign_capture foreign{s, mode};
    EXPECT_EQ(result_of([&] { memory.close(); }), errc::success);
    EXPECT_EQ(calls.count(&driver_table::cuDestroyExternalMemory), 1);
    EXPECT_TRUE(foreign.end());
  }
}

// The host cannot wait for captured work, so memory that a capture uses cannot be closed, and
// nothing is lost.
TEST_F(ExternalMemory, AMappingUsedByACaptureIsNotClosedDuringIt) {
  const stream captured{gpu};
  mapped_buffer<std::uint32_t> ours{import(), 0, words()};
  fill(s, ours, 21u);
  const fault_table calls;
  {
    test::foreign_capture foreign{captured, abi::CU_STREAM_CAPTURE_MODE_GLOBAL};
    fill(captured, ours, 22u);
    EXPECT_EQ(result_of([&] { ours.close(); }), errc::stream_capture_unsupported);
    EXPECT_TRUE(foreign.end()) << "it lives on";
  }
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 0);
  ASSERT_FALSE(ours.closed());
  EXPECT_EQ(contents(s, ours)[1], 21u);
  ours.close();
  EXPECT_EQ(calls.count(&driver_table::cuMemFree_v2), 1);
  EXPECT_EQ(calls.count(&driver_table::cuDestroyExternalMemory), 1);
}

TEST_F(ExternalMemory, HostFunctionsMayNotImportOrMap) {
  const external_memory memory = import();
  errc imported = errc::success;
  errc mapped = errc::success;
  launch_host(s, [&] {
    imported = result_of([&] { (void)external_memory::import_fd(-1, 1, gpu); });
    mapped = result_of([&] { const mapped_buffer<int> x{memory, 0, 1}; });
  });
  s.sync();
  EXPECT_EQ(imported, errc::not_permitted);
  EXPECT_EQ(mapped, errc::not_permitted);
}

// An embedded device also imports any shared memory of the operating system.
TEST_F(ExternalMemory, AnEmbeddedDeviceImportsAMemfd) {
  if (!gpu.is_embedded()) GTEST_SKIP() << "a GPU takes memory that a driver allocated";
  constexpr std::size_t bytes = 10'000;
  const int descriptor = memfd_create("external-memory-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(descriptor, bytes), 0);
  void* const host = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  ASSERT_NE(host, MAP_FAILED);
  {
    const external_memory memory = external_memory::import_fd(descriptor, bytes, gpu);
    mapped_buffer<std::uint8_t> ours{memory, 5'000, 100};
    fill(s, ours, std::uint8_t{33});
    s.sync();
  }
  EXPECT_EQ(static_cast<std::uint8_t*>(host)[4'999], 0);
  EXPECT_EQ(static_cast<std::uint8_t*>(host)[5'000], 33);
  EXPECT_EQ(static_cast<std::uint8_t*>(host)[5'099], 33);
  munmap(host, bytes);
}

// A file that is truncated while the device uses it would raise SIGBUS, so the import seals it
// against shrinking.
TEST_F(ExternalMemory, AnEmbeddedDeviceImportsOnlyFilesSealedAgainstShrinking) {
  if (!gpu.is_embedded()) GTEST_SKIP() << "a GPU takes memory that a driver allocated";
  constexpr std::size_t bytes = 1 << 20;
  const int ours = memfd_create("external-memory-test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(ours, bytes), 0);
  {
    const external_memory memory = external_memory::import_fd(dup(ours), bytes, gpu);
    mapped_buffer<std::uint8_t> all{memory, 0, bytes};
    EXPECT_NE(ftruncate(ours, 0), 0);
    fill(s, all, std::uint8_t{1});
    s.sync();
  }
  close(ours);

  const int open_ended = memfd_create("external-memory-test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(open_ended, bytes), 0);
  EXPECT_EQ(
      result_of([&] { static_cast<void>(external_memory::import_fd(open_ended, bytes, gpu)); }),
      errc::not_supported);
  EXPECT_TRUE(test::is_open(open_ended));
  close(open_ended);
}

}  // namespace
}  // namespace weir
