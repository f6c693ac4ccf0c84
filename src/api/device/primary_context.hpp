// api/device/primary_context.hpp - what weir knows of each device: its primary context and what
// never changes.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/device/device.hpp>

#include <atomic>
#include <cstdint>

namespace weir::detail {

// One for each device, for as long as the process lives. Everything in it is asked for once and
// then kept.
struct device_record {
  std::atomic<abi::CUcontext> primary{
      nullptr};  // retained, and never released; forgotten where it was reset
  std::atomic<std::uint32_t> resets{0};         // that weir has noticed
  std::atomic<abi::CUstream> service{nullptr};  // see service_stream.hpp
  std::atomic<const char*> name{nullptr};
  std::atomic<const char*> pci_bus_id{nullptr};
  std::atomic<std::uint64_t> priorities{0};  // packed, see primary_context.cpp; 0: not asked yet
};

// Throws invalid_device for a number that no driver has.
[[nodiscard]] device_record& record_of(weir::device gpu, const char* call, call_site at);

// The driver's handle of a device.
[[nodiscard]] abi::CUdevice driver_device(weir::device gpu, call_site at);

// The primary context of a device, retained at the first call. Makes nothing current.
[[nodiscard]] abi::CUcontext primary_context(weir::device gpu, call_site at);

// After a call was answered with context_is_destroyed: forgets the primary contexts that somebody
// has reset, so that the next use of those devices retains them anew. What was kept of them is
// gone.
[[gnu::cold]] void forget_reset_contexts() noexcept;
// The same for one device, whoever asks: where memory is handed out that was made earlier no call
// would be answered so. One driver call, which harms no capture.
void forget_if_reset(device_record& record) noexcept;

// The device of any context, and whether that is its primary one, which lives as long as the
// process.
struct context_info {
  int device = 0;
  bool is_primary = false;
};
[[nodiscard]] context_info context_info_of(abi::CUcontext context, call_site at);

// The priorities of a device's streams; `context` is one of that device.
[[nodiscard]] priority_range priorities_of(weir::device gpu, abi::CUcontext context, call_site at);
// Throws what names the range if it is not one of them.
void check_priority(weir::device gpu, abi::CUcontext context, int priority, const char* call,
                    call_site at);

}  // namespace weir::detail
