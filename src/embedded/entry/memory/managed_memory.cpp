// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/managed_memory.cpp - cuMemAllocManaged, and advice about managed memory,
// which never moves here.
#include <span>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/entry/memory/managed_range.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/memory/managed_advice.hpp"
#include "embedded/model/memory/memory.hpp"

namespace weir::embedded::entry {

namespace {

// Converts a location of a function older than CUDA 12.2, which is a device ordinal or
// CU_DEVICE_CPU.
CUmemLocation location_of(CUdevice device) {
  return device == CU_DEVICE_CPU ? CUmemLocation{CU_MEM_LOCATION_TYPE_HOST, 0}
                                 : CUmemLocation{CU_MEM_LOCATION_TYPE_DEVICE, device};
}

bool needs_location(CUmem_advise advice) {
  return advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
         advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
}

// Returns true if the location is valid for this advice. For CU_MEM_ADVISE_*_ACCESSED_BY it must be
// a device or the host, not a NUMA node. If the advice needs no location, only the type of the
// location is checked.
bool is_location_for(const model::process& p, CUmem_advise advice, const CUmemLocation& location) {
  switch (advice) {
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
      if (location.type >= CU_MEM_LOCATION_TYPE_HOST_NUMA) return false;
      [[fallthrough]];
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION: return check_location(p, location) == CUDA_SUCCESS;
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION: break;
  }
  return check_location(p, {location.type, 0}) == CUDA_SUCCESS;
}

// Returns a location as queries report it: the host has the ID CU_DEVICE_CPU. Locations of batch
// calls are stored without this change.
CUmemLocation reported_location(const CUmemLocation& location) {
  return location.type == CU_MEM_LOCATION_TYPE_HOST ? CUmemLocation{location.type, CU_DEVICE_CPU}
                                                    : location;
}

// Returns true if `bytes` is a valid size for the attribute. All attributes are 32-bit words,
// except the list of devices.
bool is_size_of(CUmem_range_attribute attribute, std::size_t bytes) {
  if (attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
      attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID) {
    return false;
  }
  const bool is_list = attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
  return is_list ? bytes != 0 && bytes % sizeof(int) == 0 : bytes == sizeof(int);
}

}  // namespace

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return guarded_outside_captures([&](model::process&) {
    if (address == nullptr || bytes == 0 ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    return model::memory::allocate_managed(context->base(), bytes, flags, address);
  });
}

// Attaching memory restricts when the host may access it. Here the host may access it at any time,
// so this has no effect.
CUresult cuStreamAttachMemAsync(CUstream stream, CUdeviceptr address, size_t length,
                                unsigned flags) {
  return guarded_outside_host_functions(with_stream(stream, [&](model::stream& target_stream) {
    if (const CUresult error = model::check_not_capturing(target_stream)) return error;
    if (const CUresult error = model::check_unsafe_call()) return error;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST &&
        flags != CU_MEM_ATTACH_SINGLE) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (flags == CU_MEM_ATTACH_SINGLE && stream == nullptr) return CUDA_ERROR_INVALID_VALUE;
    const model::allocation* found = find_managed(address, length);
    const bool whole = found != nullptr && found->start() == address &&
                       (length == 0 || length == found->bytes.load(std::memory_order_relaxed));
    return whole ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }));
}

CUresult cuMemPrefetchAsync_v2(CUdeviceptr address, size_t count, CUmemLocation location,
                               unsigned flags, CUstream stream) {
  return guarded_outside_host_functions([&](model::process& p) {
    if (flags != 0 || check_location(p, location) == CUDA_ERROR_INVALID_VALUE)
      return CUDA_ERROR_INVALID_VALUE;
    model::stream* target_stream = nullptr;
    if (const CUresult error = find_stream(p, stream, target_stream)) return error;
    if (const CUresult error = model::check_not_capturing(*target_stream)) return error;
    if (count == 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = check_location(p, location)) return error;
    const model::allocation* memory = find_managed(address, count);
    if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
    model::managed_advice::record_prefetch(*memory, address, count, reported_location(location));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t count, CUdevice dst, CUstream stream) {
  return cuMemPrefetchAsync_v2(address, count, location_of(dst), 0, stream);
}

CUresult cuMemAdvise_v2(CUdeviceptr address, size_t count, CUmem_advise advice,
                        CUmemLocation location) {
  return guarded_outside_captures([&](model::process& p) {
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (!is_location_for(p, advice, location)) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    const model::allocation* memory = count != 0 ? find_managed(address, count) : nullptr;
    if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (memory->pool != nullptr)
      return CUDA_ERROR_NOT_SUPPORTED;  // memory of a pool accepts no advice
    model::managed_advice::advise(*memory, address, count, advice, reported_location(location));
    return CUDA_SUCCESS;
  });
}

// This version, unlike cuMemAdvise_v2, returns CUDA_ERROR_INVALID_DEVICE for an unknown device.
CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device) {
  const CUresult status = guarded_outside_captures([&](model::process& p) {
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    const bool is_valid = device == CU_DEVICE_CPU || p.find_device(device) != nullptr;
    return is_valid || !needs_location(advice) || count == 0 ? CUDA_SUCCESS
                                                             : CUDA_ERROR_INVALID_DEVICE;
  });
  if (status != CUDA_SUCCESS) return status;
  return cuMemAdvise_v2(address, count, advice, location_of(device));
}

CUresult cuMemRangeGetAttribute(void* data, size_t data_size, CUmem_range_attribute attribute,
                                CUdeviceptr address, size_t count) {
  return cuMemRangeGetAttributes(&data, &data_size, &attribute, 1, address, count);
}

// Stores all attributes or none.
CUresult cuMemRangeGetAttributes(void** data, size_t* data_sizes, CUmem_range_attribute* attributes,
                                 size_t attribute_count, CUdeviceptr address, size_t count) {
  return guarded_outside_host_functions([&](model::process&) {
    if (data == nullptr || data_sizes == nullptr || attributes == nullptr || attribute_count == 0 ||
        count == 0) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < attribute_count; ++i) {
      if (data[i] == nullptr || !is_size_of(attributes[i], data_sizes[i]))
        return CUDA_ERROR_INVALID_VALUE;
    }
    const model::allocation* memory = find_managed(address, count);
    if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < attribute_count; ++i) {
      const std::span out{static_cast<int*>(data[i]), data_sizes[i] / sizeof(int)};
      model::managed_advice::query(*memory, address, count, attributes[i], out);
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace weir::embedded::entry
