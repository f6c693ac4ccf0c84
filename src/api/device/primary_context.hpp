// SPDX-License-Identifier: Apache-2.0
// api/device/primary_context.hpp - cached data of each device: its primary context and constant
// properties.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/device/device.hpp>

#include <atomic>
#include <cstdint>

namespace weir::detail {

// The cached data of one device. Exists until the process ends. Each member is queried at its first
// use.
struct device_record {
  // The primary context. weir retains it at first use and never releases it. Null before that, and
  // after weir has noticed a reset.
  std::atomic<abi::CUcontext> primary{nullptr};
  std::atomic<std::uint32_t> resets{0};         // number of resets that weir has noticed
  std::atomic<abi::CUstream> service{nullptr};  // see memory_resource.cpp; null: not created
  std::atomic<const char*> name{nullptr};
  std::atomic<const char*> pci_bus_id{nullptr};
  std::atomic<int> least_priority{0};
  std::atomic<int> greatest_priority{0};
  std::atomic<bool> priorities_known{false};  // true after both priorities were stored
};

// Returns the cached data of a device. Throws invalid_device if the ordinal is negative or not
// below max_devices.
[[nodiscard]] device_record& record_of(weir::device gpu, const char* call, call_site at);

// Returns the driver's handle of a device.
[[nodiscard]] abi::CUdevice driver_device(weir::device gpu, call_site at);

// Returns the device's primary context and retains it at the first call. Does not change the
// current context.
[[nodiscard]] abi::CUcontext primary_context(weir::device gpu, call_site at);

// Called after a driver call failed with context_is_destroyed. Clears the cached data of devices
// whose primary context was reset. The next use of such a device retains its primary context again.
[[gnu::cold]] void forget_reset_contexts() noexcept;
// Like forget_reset_contexts(), for one device. Also used before cached memory is reused, because
// no driver call would report the reset there. Makes one driver call, which does not affect
// captures.
void forget_if_reset(device_record& record) noexcept;

// The device of a context. `is_primary` is true for the device's primary context, which exists
// until it is reset or the process ends.
struct context_info {
  int device = 0;
  bool is_primary = false;
};
[[nodiscard]] context_info context_info_of(abi::CUcontext context, call_site at);

// Returns the calling thread's current context, or the primary context of device 0 if none is
// current.
[[nodiscard]] abi::CUcontext current_or_primary_context(call_site at);

// Returns the priority range of a device's streams. `context` is any context of that device.
[[nodiscard]] priority_range priorities_of(weir::device gpu, abi::CUcontext context, call_site at);
// Throws, naming the range, if the priority is outside it.
void check_priority(weir::device gpu, abi::CUcontext context, int priority, const char* call,
                    call_site at);

}  // namespace weir::detail
