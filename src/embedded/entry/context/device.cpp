// entry/device.cpp - cuDevice*: which devices there are, and what each says of itself.
#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

namespace weir::embedded::entry {

namespace {

// Hands the device of an ordinal to a body that answers; `out` is where that goes.
template <class Out, class Body>
CUresult query_device(CUdevice ordinal, const Out* out, Body&& body) noexcept {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::device* const device = p.find_device(ordinal);
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    return body(*device);
  });
}

// Copies a text and its end into a buffer of `length` bytes, as much of it as fits. Was that all of
// it?
bool copy_text(const std::string& text, char* to, int length) noexcept {
  const std::size_t room = static_cast<std::size_t>(length) - 1;
  const std::size_t count = std::min(room, text.size());
  std::memcpy(to, text.data(), count);
  to[count] = '\0';
  return count == text.size();
}

// Brings "domain:bus:device.function" into the form that device::bus_id() has. The domain and the
// function may be left out, digits be in either case, and blanks go before and anything behind.
// Nothing for any other text.
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
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = p.device_count();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return query_device(ordinal, device, [&](const model::device& found) {
    *device = found.ordinal();
    return CUDA_SUCCESS;
  });
}

// A name that does not fit is cut off. A negative length is as good as any large one.
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return query_device(device, name, [&](const model::device& found) {
    if (length == 0) return CUDA_ERROR_INVALID_VALUE;
    copy_text(found.name(), name, length < 0 ? std::numeric_limits<int>::max() : length);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return query_device(device, uuid, [&](const model::device& found) {
    *uuid = found.uuid();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return query_device(device, bytes, [&](const model::device& found) {
    *bytes = found.total_memory();
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return query_device(device, value, [&](const model::device& found) {
    return found.attribute(attribute, *value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// An id that does not fit is cut off, and that is an error, also where a negative length stands for
// any large one.
CUresult cuDeviceGetPCIBusId(char* bus_id, int length, CUdevice device) {
  return query_device(device, bus_id, [&](const model::device& found) {
    if (length == 0) return CUDA_ERROR_INVALID_VALUE;
    const bool whole =
        copy_text(found.bus_id(), bus_id, length < 0 ? std::numeric_limits<int>::max() : length);
    return whole && length > 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* bus_id) {
  return guarded_outside_host_functions([&](model::process& p) -> CUresult {
    if (device == nullptr || bus_id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const std::optional<std::string> wanted = normalized_bus_id(bus_id);
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
  return query_device(device, can, [&](const model::device& found) {
    const model::device* const other = model::this_process().find_device(peer);
    if (other == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *can = other != &found ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source,
                                 CUdevice destination) {
  return query_device(source, value, [&](const model::device& from) {
    const model::device* const to = model::this_process().find_device(destination);
    if (to == nullptr || to == &from) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
        *value = 0;
        return CUDA_SUCCESS;  // the best there is
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED: *value = 1; return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED: *value = 1; return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: *value = 1; return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_ONLY_PARTIAL_NATIVE_ATOMIC_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

// There are no textures; what an H200 says of the largest one needs none, and programs choose sizes
// by it.
CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* elements, CUarray_format format,
                                            unsigned channels, CUdevice device) {
  return query_device(device, elements, [&](const model::device&) {
    std::size_t bytes = 0;
    switch (format) {
      case CU_AD_FORMAT_UNSIGNED_INT8:
      case CU_AD_FORMAT_SIGNED_INT8: bytes = 1; break;
      case CU_AD_FORMAT_UNSIGNED_INT16:
      case CU_AD_FORMAT_SIGNED_INT16:
      case CU_AD_FORMAT_HALF: bytes = 2; break;
      case CU_AD_FORMAT_UNSIGNED_INT32:
      case CU_AD_FORMAT_SIGNED_INT32:
      case CU_AD_FORMAT_FLOAT: bytes = 4; break;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
    if (channels != 1 && channels != 2 && channels != 4) return CUDA_ERROR_INVALID_VALUE;
    constexpr std::size_t max_elements = std::size_t{1} << 30;
    constexpr std::size_t max_bytes = std::size_t{1} << 32;
    *elements = std::min(max_elements, max_bytes / (bytes * channels));
    return CUDA_SUCCESS;
  });
}

// No context can be confined to a part of a device, whatever the part.
CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType, CUdevice device) {
  return query_device(device, supported, [&](const model::device&) {
    *supported = 0;
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
