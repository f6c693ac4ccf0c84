// entry/device.cpp - cuDevice*: which devices there are, and what each says of itself.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace weir::embedded::entry {

namespace {

// Hands the device of an ordinal to a body that answers; `out` is where that goes.
template <class Out, class Body>
CUresult ask_device(CUdevice ordinal, const Out* out, Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    const model::device* const device = p.find_device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return body(*device);
  });
}

// Copies a text and its end into a buffer of `length` bytes, as much of it as fits. Was that all of it?
bool copy_text(const std::string& text, char* to, int length) noexcept {
  const std::size_t room = static_cast<std::size_t>(length) - 1;
  const std::size_t count = std::min(room, text.size());
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
  return count == text.size();
}

// Brings "domain:bus:device.function" into the form that device::bus_id() has. The domain and the function may be left
// out, and digits be in either case. Nothing for any other text.
std::optional<std::string> normal_bus_id(std::string_view text) {
  unsigned parts[3] = {};
  std::size_t colons = static_cast<std::size_t>(std::count(text.begin(), text.end(), ':'));
  if (colons != 1 && colons != 2) return std::nullopt;
  unsigned function = 0;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::size_t part = 2 - colons; part < 3; ++part) {
    const auto [rest, error] = std::from_chars(at, end, parts[part], 16);
    if (error != std::errc{}) return std::nullopt;
    at = rest;
    if (part < 2 && (at == end || *at++ != ':')) return std::nullopt;
  }
  if (at != end && *at == '.') {
    const auto [rest, error] = std::from_chars(at + 1, end, function, 16);
    if (error != std::errc{}) return std::nullopt;
    at = rest;
  }
  if (at != end) return std::nullopt;
  char normal[48];
  std::snprintf(normal, sizeof normal, "%04X:%02X:%02X.%X", parts[0], parts[1], parts[2], function);
  return normal;
}

}  // namespace

CUresult cuDeviceGetCount(int* count) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = p.device_count();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return ask_device(ordinal, device, [&](const model::device& found) {
    *device = found.ordinal();
    return CUDA_SUCCESS;
  });
}

// A name that does not fit is cut off.
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return ask_device(device, name, [&](const model::device& found) {
    if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
    copy_text(found.name(), name, length);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return ask_device(device, uuid, [&](const model::device& found) {
    *uuid = found.uuid();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return ask_device(device, bytes, [&](const model::device& found) {
    *bytes = found.total_memory();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;  // before all else
  return ask_device(device, value, [&](const model::device& found) {
    return found.attribute(attribute, *value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// An id that does not fit is cut off, and that is an error.
CUresult cuDeviceGetPCIBusId(char* bus_id, int length, CUdevice device) {
  return ask_device(device, bus_id, [&](const model::device& found) {
    if (length <= 0) return CUDA_ERROR_INVALID_VALUE;
    return copy_text(found.bus_id(), bus_id, length) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* bus_id) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (device == nullptr || bus_id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::optional<std::string> wanted = normal_bus_id(bus_id);
    if (!wanted) return CUDA_ERROR_INVALID_VALUE;
    for (int ordinal = 0; ordinal < p.device_count(); ++ordinal) {
      if (p.find_device(ordinal)->bus_id() != *wanted) continue;
      *device = ordinal;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_DEVICE;
  });
}

// Every device reaches the memory of every other; none is a peer of itself.
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return ask_device(device, can, [&](const model::device& found) {
    const model::device* const other = model::this_process().find_device(peer);
    if (other == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *can = other != &found ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination) {
  return ask_device(source, value, [&](const model::device& from) {
    const model::device* const to = model::this_process().find_device(destination);
    if (to == nullptr || to == &from) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: *value = 0; return CUDA_SUCCESS;  // the best there is
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED: *value = 1; return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: *value = 1; return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: *value = 0; return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED: *value = 0; return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

// No context can be confined to a part of a device, whatever the part.
CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType, CUdevice device) {
  return ask_device(device, supported, [&](const model::device&) {
    *supported = 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
