// SPDX-License-Identifier: Apache-2.0
// device_test.cpp - the list of devices, and queries of their properties.
#include <weir/core/driver.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>
#include <weir/memory/fill.hpp>
#include <weir/memory/pinned_buffer.hpp>
#include <weir/stream/stream.hpp>

#include <algorithm>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "driver/table.hpp"
#include "support/errors.hpp"
#include "support/fresh_process.hpp"
#include "support/gate.hpp"
#include "support/gate_opener.hpp"

namespace weir {
namespace {

using test::result_of;

TEST(Device, DevicesAreNumberedFromZero) {
  ASSERT_GT(device::count(), 0);
  int next = 0;
  for (const device gpu : device::all()) EXPECT_EQ(gpu.ordinal(), next++);
  EXPECT_EQ(next, device::count());
  EXPECT_EQ(device::all().size(), device::count());
  EXPECT_EQ(device{}, device{0});
}

// Constructing a device with an invalid ordinal is no error; querying it is.
TEST(Device, AMissingDeviceIsReportedByTheFirstQuery) {
  for (const int ordinal : {-1, device::count(), 100'000}) {
    const device none{ordinal};
    EXPECT_EQ(result_of([&] { static_cast<void>(none.name()); }), errc::invalid_device) << ordinal;
    EXPECT_EQ(result_of([&] { static_cast<void>(none.pci_bus_id()); }), errc::invalid_device)
        << ordinal;
    EXPECT_EQ(result_of([&] { static_cast<void>(none.uuid()); }), errc::invalid_device) << ordinal;
    EXPECT_EQ(result_of([&] { static_cast<void>(none.memory()); }), errc::invalid_device)
        << ordinal;
    EXPECT_EQ(result_of([&] { static_cast<void>(none.priorities()); }), errc::invalid_device)
        << ordinal;
    EXPECT_EQ(result_of([&] { static_cast<void>(none.primary_context()); }), errc::invalid_device)
        << ordinal;
    EXPECT_EQ(result_of([&] { none.sync(); }), errc::invalid_device) << ordinal;
    EXPECT_EQ(result_of([&] { static_cast<void>(device{}.can_access(none)); }),
              errc::invalid_device)
        << ordinal;
  }
}

TEST(Device, ADeviceReportsItsNameBusIdAndUuid) {
  for (const device gpu : device::all()) {
    EXPECT_GT(std::strlen(gpu.name()), 0u);
    EXPECT_EQ(gpu.name(), gpu.name()) << "the text is never freed";
    EXPECT_EQ(std::count(gpu.pci_bus_id(), gpu.pci_bus_id() + std::strlen(gpu.pci_bus_id()), ':'),
              2);
    EXPECT_EQ(gpu.pci_bus_id(), gpu.pci_bus_id());
    EXPECT_NE(gpu.uuid(), device_uuid{});
    EXPECT_EQ(gpu.uuid(), gpu.uuid());
  }
}

TEST(Device, DevicesHaveDistinctUuids) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  EXPECT_NE(device{0}.uuid(), device{1}.uuid());
  EXPECT_STRNE(device{0}.pci_bus_id(), device{1}.pci_bus_id());
}

TEST(Device, DeviceAttributesMatchTheDriverByNumber) {
  const device gpu;
  const compute_capability capability = gpu.compute_capability();
  EXPECT_EQ(capability.major, gpu.attribute(device_attribute::compute_capability_major));
  EXPECT_EQ(capability.minor, gpu.attribute(device_attribute::compute_capability_minor));
  EXPECT_GE(capability, (compute_capability{5, 0}));
  EXPECT_GT(gpu.attribute(device_attribute::multiprocessor_count), 0);
  EXPECT_EQ(gpu.attribute(device_attribute::unified_addressing), 1);
  EXPECT_EQ(gpu.attribute(device_attribute::memory_pools_supported), 1);
  EXPECT_EQ(
      result_of([&] { static_cast<void>(gpu.attribute(static_cast<device_attribute>(100'000))); }),
      errc::invalid_value);
}

TEST(Device, APriorityRangeClampsItsValues) {
  const priority_range range = device{}.priorities();
  EXPECT_TRUE(range.contains(0));
  EXPECT_TRUE(range.contains(range.least));
  EXPECT_TRUE(range.contains(range.greatest));
  EXPECT_FALSE(range.contains(range.least + 1));
  EXPECT_FALSE(range.contains(range.greatest - 1));
  EXPECT_EQ(range.clamped(range.least + 1), range.least);
  EXPECT_EQ(range.clamped(range.greatest - 1), range.greatest);
  EXPECT_EQ(range.clamped(0), 0);
}

TEST(Device, FreeMemoryIsAtMostTotalMemory) {
  const memory_info memory = device{}.memory();
  EXPECT_GT(memory.total, 0u);
  EXPECT_GT(memory.free, 0u);
  EXPECT_LE(memory.free, memory.total);
}

TEST(Device, ADeviceReportsWhetherItIsEmbedded) {
  EXPECT_EQ(device{}.is_embedded(), current_driver().kind == driver_kind::embedded);
}

TEST(Device, DeviceSyncWaitsForAllStreams) {
  const device gpu;
  const stream a{gpu};
  const stream b{gpu, {.kind = stream_kind::blocking}};
  test::gate first{a};
  test::gate second{b};
  pinned_buffer<unsigned> words{2};
  fill(a, words.data(), 1, 1u);
  fill(b, words.data() + 1, 1, 2u);
  second.open();
  const test::gate_opener open_when_asked{first, &detail::driver_table::cuEventSynchronize};
  gpu.sync();
  EXPECT_TRUE(a.done());
  EXPECT_TRUE(b.done());
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 2u);
}

// Rule 15: a query does not change the caller's current context.
TEST(Device, DeviceQueriesDoNotChangeTheCurrentContext) {
  const auto ask_all = [] {
    for (const device gpu : device::all()) {
      static_cast<void>(gpu.memory());
      static_cast<void>(gpu.priorities());
      static_cast<void>(gpu.primary_context());
      gpu.sync();
    }
  };
  std::thread{[&] {
    ask_all();
    EXPECT_EQ(current_context().get(), nullptr);
    const context_scope current{device{}};
    ask_all();
    EXPECT_EQ(current_context(), device{}.primary_context());
  }}.join();
}

// Rule 46: waiting for an unused device creates no context on it.
TEST(Device, SyncOfAnUnusedDeviceCreatesNoContext) {
  if (device::count() < 2) GTEST_SKIP() << "one device";
  test::in_a_fresh_process([] {
    const auto is_active = [] {
      unsigned flags = 0;
      int active = 1;
      detail::driver().cuDevicePrimaryCtxGetState(1, &flags, &active);
      return active != 0;
    };
    const bool before = is_active();
    device{1}.sync();
    const bool after = is_active();
    static_cast<void>(device{1}.primary_context());
    return WEIR_HOLDS(!before) && WEIR_HOLDS(!after) && WEIR_HOLDS(is_active());
  });
}

TEST(Device, ADeviceHasNoPeerAccessToItself) {
  EXPECT_FALSE(device{}.can_access(device{}));
  if (device::count() > 1) {
    EXPECT_EQ((device{0}.can_access(device{1})), (device{1}.can_access(device{0})));
  }
}

}  // namespace
}  // namespace weir
