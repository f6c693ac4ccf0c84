// SPDX-License-Identifier: Apache-2.0
// api/device/device.cpp - properties of devices.
#include <weir/core/driver.hpp>
#include <weir/device/context.hpp>
#include <weir/device/device.hpp>

#include "api/core/check.hpp"
#include "api/device/make_current.hpp"
#include "api/device/primary_context.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <memory>

namespace weir {
namespace {

// Returns a text of the device. The driver is queried once; the copy of its text is cached in
// `slot` and never freed. If two threads query at once, the copy of one thread is kept.
const char* cached_text(device gpu, std::atomic<const char*> detail::device_record::*slot,
                        abi::CUresult (*detail::driver_table::*query)(char*, int, abi::CUdevice),
                        const char* call, call_site at) {
  std::atomic<const char*>& text_slot = detail::record_of(gpu, call, at).*slot;
  const char* cached = text_slot.load(std::memory_order_acquire);
  if (cached != nullptr) return cached;
  std::array<char, 256> text{};
  detail::check(
      (detail::driver(at).*query)(text.data(), text.size(), detail::driver_device(gpu, at)), call,
      gpu, at);
  const std::size_t size = std::strlen(text.data()) + 1;
  std::unique_ptr<char[]> copy{new char[size]};
  std::memcpy(copy.get(), text.data(), size);
  return text_slot.compare_exchange_strong(cached, copy.get(), std::memory_order_acq_rel)
             ? copy.release()
             : cached;
}

}  // namespace

int device::count() noexcept {
  if (detail::inside_host_function) return 0;
  try {
    int n = 0;
    return detail::driver().cuDeviceGetCount(&n) == abi::CUDA_SUCCESS ? n : 0;
  } catch (...) {
    // The driver cannot be loaded, because the environment requests one that does not exist.
    // Without a driver there is no device.
    return 0;
  }
}

device_list device::all() noexcept { return device_list{count()}; }

const char* device::name(call_site at) const {
  return cached_text(*this, &detail::device_record::name, &detail::driver_table::cuDeviceGetName,
                     "cuDeviceGetName", at);
}

const char* device::pci_bus_id(call_site at) const {
  return cached_text(*this, &detail::device_record::pci_bus_id,
                     &detail::driver_table::cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", at);
}

device_uuid device::uuid(call_site at) const {
  abi::CUuuid raw = {};
  detail::check(detail::driver(at).cuDeviceGetUuid_v2(&raw, detail::driver_device(*this, at)),
                "cuDeviceGetUuid", *this, at);
  return std::bit_cast<device_uuid>(raw);
}

int device::attribute(device_attribute attribute_id, call_site at) const {
  int value = 0;
  detail::check(detail::driver(at).cuDeviceGetAttribute(
                    &value, static_cast<abi::CUdevice_attribute>(attribute_id),
                    detail::driver_device(*this, at)),
                "cuDeviceGetAttribute", *this, at);
  return value;
}

weir::compute_capability device::compute_capability(call_site at) const {
  return {attribute(device_attribute::compute_capability_major, at),
          attribute(device_attribute::compute_capability_minor, at)};
}

priority_range device::priorities(call_site at) const {
  return detail::priorities_of(*this, detail::primary_context(*this, at), at);
}

memory_info device::memory(call_site at) const {
  const detail::make_current current{detail::primary_context(*this, at), at};
  std::size_t free = 0;
  std::size_t total = 0;
  detail::check(detail::driver(at).cuMemGetInfo_v2(&free, &total), "cuMemGetInfo", *this, at);
  return {free, total};
}

bool device::can_access(device peer, call_site at) const {
  int can = 0;
  detail::check(detail::driver(at).cuDeviceCanAccessPeer(&can, detail::driver_device(*this, at),
                                                         detail::driver_device(peer, at)),
                "cuDeviceCanAccessPeer", *this, at);
  return can != 0;
}

bool device::is_embedded() const noexcept {
  try {
    const driver_info driver = current_driver();
    return driver.kind == driver_kind::embedded || driver.is_dropin;
  } catch (...) {
    return false;
  }
}

context_ref device::primary_context(call_site at) const {
  return context_ref{detail::primary_context(*this, at)};
}

void device::sync(call_site at) const {
  // A primary context that is not active has no work. Creating it would only cost memory and time.
  unsigned flags = 0;
  int active = 0;
  detail::check(detail::driver(at).cuDevicePrimaryCtxGetState(detail::driver_device(*this, at),
                                                              &flags, &active),
                "cuDevicePrimaryCtxGetState", *this, at);
  if (active != 0) primary_context(at).sync(at);
}

}  // namespace weir
