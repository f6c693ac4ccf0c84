// SPDX-License-Identifier: Apache-2.0
// api/device/primary_context.hpp - cached facts of each device: its primary context and constant
// properties.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/device/device.hpp>

#include <atomic>
#include <cstdint>

namespace weir::detail {

// The cache of one device; exists until the process ends. Each field is queried once.
struct device_record {
  // The primary context, retained and never released; null if it is not retained or was reset.
  std::atomic<abi::CUcontext> primary{nullptr};
  std::atomic<std::uint32_t> resets{0};         // resets that weir has noticed
  std::atomic<abi::CUstream> service{nullptr};  // see service_stream.hpp
  std::atomic<const char*> name{nullptr};
  std::atomic<const char*> pci_bus_id{nullptr};
  std::atomic<std::uint64_t> priorities{0};  // packed, see primary_context.cpp; 0: not queried yet
};

// Throws invalid_device if no driver can have a device with this ordinal.
[[nodiscard]] device_record& record_of(weir::device gpu, const char* call, call_site at);

// Returns the driver's handle of a device.
[[nodiscard]] abi::CUdevice driver_device(weir::device gpu, call_site at);

// Returns the device's primary context and retains it at the first call. Makes nothing current.
[[nodiscard]] abi::CUcontext primary_context(weir::device gpu, call_site at);

// Called after a call failed with context_is_destroyed. Forgets primary contexts that were reset,
// so that the next use of those devices retains them again. Whatever was cached for them is
// dropped.
[[gnu::cold]] void forget_reset_contexts() noexcept;
// Like forget_reset_contexts(), for one device. Also for calls that hand out cached memory, where
// no driver call would report the reset. Makes one driver call, which is harmless to captures.
void forget_if_reset(device_record& record) noexcept;

// The device of a context, and whether this is the device's primary context, which exists until the
// process ends.
struct context_info {
  int device = 0;
  bool is_primary = false;
};
[[nodiscard]] context_info context_info_of(abi::CUcontext context, call_site at);

// Returns the calling thread's current context, or else the primary context of device 0.
[[nodiscard]] abi::CUcontext current_or_primary_context(call_site at);

// Returns the priority range of a device's streams. `context` is any context of that device.
[[nodiscard]] priority_range priorities_of(weir::device gpu, abi::CUcontext context, call_site at);
// Throws, naming the range, if the priority is outside it.
void check_priority(weir::device gpu, abi::CUcontext context, int priority, const char* call,
                    call_site at);

}  // namespace weir::detail
