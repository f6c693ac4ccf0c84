// SPDX-License-Identifier: Apache-2.0
// embedded/entry/context/device.cpp - cuDevice*: devices and their attributes.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/array_limits.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace weir::embedded::entry {

namespace {

// Calls body(device) with the device of an ordinal. Returns CUDA_ERROR_INVALID_VALUE if `out` is
// null, before it checks the ordinal, and CUDA_ERROR_INVALID_DEVICE for an invalid ordinal.
template <class Out, class Body>
CUresult query_device(CUdevice ordinal, const Out* out, Body&& body) noexcept {
  return guarded_outside_host_functions([&] {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::device* const device = model::this_process().find_device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return body(*device);
  });
}

// Copies as much of a text as fits into a buffer of `length` bytes, with a terminating zero. The
// length must not be 0; a negative length counts as unlimited. Returns true if all of it fitted.
bool copy_text(std::string_view text, char* buffer, int length) noexcept {
  const std::size_t count =
      length < 0 ? text.size() : std::min(static_cast<std::size_t>(length) - 1, text.size());
  std::memcpy(buffer, text.data(), count);
  buffer[count] = '\0';
  return count == text.size();
}

// Converts "domain:bus:device.function" to the form of device::bus_id(). Domain and function are
// optional, digits may be in either case, leading blanks and any trailing text are ignored. Returns
// nullopt for other text.
std::optional<std::string> normalized_bus_id(const char* text) {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned slot = 0;
  unsigned function = 0;
  if (std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
    domain = 0;
    if (std::sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2) return std::nullopt;
  }
  char normal[48];
  std::snprintf(normal, sizeof normal, "%04X:%02X:%02X.%X", domain, bus, slot, function);
  return normal;
}

}  // namespace

CUresult cuDeviceGetCount(int* count) {
  return guarded_outside_host_functions(
      [&] { return store(count, model::this_process().device_count()); });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return query_device(ordinal, device,
                      [&](const model::device& found) { return store(device, found.ordinal()); });
}

// Truncates a name that does not fit. A negative length counts as unlimited.
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return query_device(device, name, [&](const model::device& found) {
    if (length == 0) return CUDA_ERROR_INVALID_VALUE;
    copy_text(found.name(), name, length);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return query_device(device, uuid,
                      [&](const model::device& found) { return store(uuid, found.uuid()); });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return query_device(device, bytes, [&](const model::device& found) {
    return store(bytes, found.total_memory());
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return query_device(device, value, [&](const model::device& found) {
    if (attribute == 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    return store(value, found.attribute(attribute));
  });
}

// Truncates an id that does not fit and returns CUDA_ERROR_INVALID_VALUE. A negative length counts
// as unlimited but is an error, too.
CUresult cuDeviceGetPCIBusId(char* bus_id, int length, CUdevice device) {
  return query_device(device, bus_id, [&](const model::device& found) {
    if (length == 0) return CUDA_ERROR_INVALID_VALUE;
    const bool whole = copy_text(found.bus_id(), bus_id, length);
    return whole && length > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* bus_id) {
  return guarded_outside_host_functions([&] {
    if (device == nullptr || bus_id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::optional<std::string> requested = normalized_bus_id(bus_id);
    if (!requested) return CUDA_ERROR_INVALID_VALUE;
    for (int ordinal = 0; ordinal < model::this_process().device_count(); ++ordinal) {
      if (model::this_process().find_device(ordinal)->bus_id() != *requested) continue;
      return store(device, ordinal);
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}

// Every device can access the memory of every other device. A device is not its own peer.
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return query_device(device, can, [&](const model::device& found) {
    const model::device* const peer_device = model::this_process().find_device(peer);
    if (peer_device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return store(can, peer_device != &found ? 1 : 0);
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source,
                                 CUdevice destination) {
  return query_device(source, value, [&](const model::device& source_device) {
    const model::device* const destination_device = model::this_process().find_device(destination);
    if (destination_device == nullptr || destination_device == &source_device)
      return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: return store(value, 1);
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:  // 0 is the best rank
      case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: return store(value, 0);
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

// The embedded device has no textures. Programs choose sizes by this limit, so the function reports
// the limit of an H200.
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* elements, CUarray_format format,
                                            unsigned channels, CUdevice device) {
  return query_device(device, elements, [&](const model::device&) {
    const model::format_traits traits = model::traits_of(format);
    if (traits.channel_bytes == 0 || traits.channels != model::any_channels)
      return CUDA_ERROR_INVALID_VALUE;
    if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
    constexpr std::size_t max_elements = std::size_t{1} << 30;
    constexpr std::size_t max_bytes = std::size_t{1} << 32;
    return store(elements, std::min(max_elements, max_bytes / (traits.channel_bytes * channels)));
  });
}

// Reports no support for any affinity type, because a context cannot be restricted to some
// multiprocessors.
CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType, CUdevice device) {
  return query_device(device, supported, [&](const model::device&) { return store(supported, 0); });
}

}  // namespace weir::embedded::entry
