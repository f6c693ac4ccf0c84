// SPDX-License-Identifier: Apache-2.0
// api/device/primary_context.cpp - cached facts of each device.
#include "api/device/primary_context.hpp"

#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/stream/stream_state.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace weir::detail {
namespace {

constexpr std::size_t max_devices = 256;

// Constant-initialized and trivially destroyed, so that constructors and destructors of other
// static objects can use the array.
constinit std::array<device_record, max_devices> records;

}  // namespace

device_record& record_of(weir::device gpu, const char* call, call_site at) {
  if (gpu.ordinal() < 0 || static_cast<std::size_t>(gpu.ordinal()) >= max_devices) {
    throw_error(errc::invalid_device, call, gpu, at);
  }
  return records[static_cast<std::size_t>(gpu.ordinal())];
}

CUdevice driver_device(weir::device gpu, call_site at) {
  require_outside_host_function("cuDeviceGet", gpu, at);
  CUdevice handle = 0;
  check(driver(at).cuDeviceGet(&handle, gpu.ordinal()), "cuDeviceGet", gpu, at);
  return handle;
}

CUcontext primary_context(weir::device gpu, call_site at) {
  device_record& record = record_of(gpu, "cuDevicePrimaryCtxRetain", at);
  if (const CUcontext cached = record.primary.load(std::memory_order_acquire)) return cached;

  // Two threads may retain the context at once, because no lock is held. The thread whose
  // compare_exchange fails releases its reference.
  const CUdevice handle = driver_device(gpu, at);
  CUcontext context = nullptr;
  check(driver().cuDevicePrimaryCtxRetain(&context, handle), "cuDevicePrimaryCtxRetain", gpu, at);
  CUcontext none = nullptr;
  if (!record.primary.compare_exchange_strong(none, context, std::memory_order_acq_rel)) {
    report_if_failed(driver().cuDevicePrimaryCtxRelease_v2(handle), "cuDevicePrimaryCtxRelease",
                     gpu);
  }
  return context;
}

void forget_if_reset(device_record& record) noexcept {
  CUcontext cached = record.primary.load(std::memory_order_acquire);
  if (cached == nullptr) return;
  unsigned flags = 0;
  int active = 0;
  const auto handle = static_cast<CUdevice>(&record - records.data());
  const CUresult answer = driver().cuDevicePrimaryCtxGetState(handle, &flags, &active);
  if (answer != CUDA_SUCCESS || active != 0) return;
  if (!record.primary.compare_exchange_strong(cached, nullptr, std::memory_order_acq_rel)) return;
  record.service.store(nullptr, std::memory_order_release);
  record.resets.fetch_add(1, std::memory_order_release);
  // Also makes the entries of all stream_cache objects invalid.
  streams_destroyed.fetch_add(1, std::memory_order_release);
}

void forget_reset_contexts() noexcept {
  for (device_record& record : records) forget_if_reset(record);
}

context_info context_info_of(CUcontext context, call_site at) {
  // Compares with the primary contexts of the first 16 devices, which costs less than a driver
  // call. Few machines have more devices.
  for (std::size_t i = 0; i < 16; ++i) {
    if (records[i].primary.load(std::memory_order_relaxed) == context)
      return {static_cast<int>(i), true};
  }
  const make_current current{context, at};
  CUdevice handle = 0;
  check(driver().cuCtxGetDevice(&handle), "cuCtxGetDevice", subject{context}, at);
  // The handle of a device is its ordinal in all known drivers. If the primary context is not
  // active, `context` is another context. primary_context() is not called then, because it would
  // create the primary context, which takes time and device memory.
  const weir::device gpu{handle};
  unsigned flags = 0;
  int active = 0;
  check(driver().cuDevicePrimaryCtxGetState(handle, &flags, &active), "cuDevicePrimaryCtxGetState",
        gpu, at);
  return {handle, active != 0 && primary_context(gpu, at) == context};
}

CUcontext current_or_primary_context(call_site at) {
  const CUcontext current = current_context_handle(at);
  return current != nullptr ? current : primary_context(weir::device{}, at);
}

priority_range priorities_of(weir::device gpu, CUcontext context, call_site at) {
  device_record& record = record_of(gpu, "cuCtxGetStreamPriorityRange", at);
  if (!record.priorities_known.load(std::memory_order_acquire)) {
    const make_current current{context, at};
    priority_range range;
    check(driver().cuCtxGetStreamPriorityRange(&range.least, &range.greatest),
          "cuCtxGetStreamPriorityRange", gpu, at);
    record.least_priority.store(range.least, std::memory_order_relaxed);
    record.greatest_priority.store(range.greatest, std::memory_order_relaxed);
    record.priorities_known.store(true, std::memory_order_release);
  }
  return {record.least_priority.load(std::memory_order_relaxed),
          record.greatest_priority.load(std::memory_order_relaxed)};
}

void check_priority(weir::device gpu, CUcontext context, int priority, const char* call,
                    call_site at) {
  const priority_range range = priorities_of(gpu, context, at);
  if (range.contains(priority)) return;
  throw_error(errc::invalid_value, call, fmt::format("device {}", gpu.ordinal()),
              fmt::format("priority {} is outside {} (highest) to {} (lowest); use "
                          "device.priorities().clamped(p)",
                          priority, range.greatest, range.least),
              at);
}

}  // namespace weir::detail
