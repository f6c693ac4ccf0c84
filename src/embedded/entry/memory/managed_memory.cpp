// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/managed_memory.cpp - cuMemAllocManaged, and advice about managed memory,
// which never moves here: for one range, and for many ranges in one call.
#include <span>

#include "embedded/entry/entry.hpp"
#include "embedded/entry/guard.hpp"
#include "embedded/model/capture/capture.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/managed_advice.hpp"
#include "embedded/model/memory/memory.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"

namespace weir::embedded::entry {

namespace {

// Finds the managed memory that contains the whole range; null if there is none.
const model::allocation* find_managed(CUdeviceptr address, std::size_t bytes) {
  const model::allocation* found = model::address_map::find(address);
  if (found == nullptr || !model::is_managed(*found)) return nullptr;
  return found->holds_range(address, bytes) ? found : nullptr;
}

// Returns CUDA_SUCCESS if managed memory can have this location: a device, the host, or NUMA node
// 0, the host's only node.
CUresult check_location(const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return model::this_process().find_device(location.id) != nullptr ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return location.id == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_INVALID: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

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
bool is_location_for(CUmem_advise advice, const CUmemLocation& location) {
  const bool is_accessed_by =
      advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY;
  if (is_accessed_by && location.type >= CU_MEM_LOCATION_TYPE_HOST_NUMA) return false;
  const int id = needs_location(advice) ? location.id : 0;
  return check_location({location.type, id}) == CUDA_SUCCESS;
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

// The ranges of a batch, as the program passed them.
struct ranges {
  const CUdeviceptr* addresses;
  const std::size_t* sizes;
  std::size_t count;
  unsigned long long flags;
};

// The target locations of a batch. locations[i] applies to the ranges from first_indices[i] up to
// first_indices[i + 1], exclusive.
struct prefetch_targets {
  const CUmemLocation* locations;
  const std::size_t* first_indices;
  std::size_t count;
};

// Runs body(stream) for a batch of ranges. The driver accepts no flags, and no batch in the legacy
// stream; these errors precede those of the stream.
template <class Body>
CUresult with_batch_stream(const ranges& batch, CUstream stream, Body body) {
  if (is_legacy_stream(stream) || batch.flags != 0) return reject_argument();
  return guarded_outside_host_functions(with_stream(stream, body));
}

// Checks the ranges of a batch.
CUresult check_ranges(model::stream& target_stream, const ranges& batch) {
  if (const CUresult error = model::check_not_capturing(target_stream)) return error;
  if (batch.count == 0 || batch.addresses == nullptr || batch.sizes == nullptr)
    return CUDA_ERROR_INVALID_VALUE;
  for (std::size_t i = 0; i < batch.count; ++i) {
    if (batch.sizes[i] == 0 || find_managed(batch.addresses[i], batch.sizes[i]) == nullptr) {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  return CUDA_SUCCESS;
}

CUresult check_targets(const prefetch_targets& targets, std::size_t count) {
  if (targets.locations == nullptr || targets.first_indices == nullptr || targets.count == 0 ||
      targets.count > count || targets.first_indices[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (std::size_t i = 0; i < targets.count; ++i) {
    if (targets.first_indices[i] >= count ||
        (i > 0 && targets.first_indices[i] < targets.first_indices[i - 1]))
      return CUDA_ERROR_INVALID_VALUE;
    if (check_location(targets.locations[i]) != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace

CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags) {
  return guarded_outside_host_functions([&] {
    if (address == nullptr || bytes == 0 ||
        (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    if (const CUresult error = model::check_unsafe_call()) return error;
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
  return guarded_outside_host_functions([&] {
    // An invalid location precedes the errors of the stream; an unknown device follows them.
    if (flags != 0 || check_location(location) == CUDA_ERROR_INVALID_VALUE)
      return CUDA_ERROR_INVALID_VALUE;
    model::stream* target_stream = nullptr;
    if (const CUresult error = find_stream(stream, target_stream)) return error;
    if (const CUresult error = model::check_not_capturing(*target_stream)) return error;
    if (count == 0) return CUDA_ERROR_INVALID_VALUE;
    if (const CUresult error = check_location(location)) return error;
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
  return guarded_outside_host_functions([&] {
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    if (!is_location_for(advice, location)) return CUDA_ERROR_INVALID_VALUE;
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    if (const CUresult error = model::check_unsafe_call()) return error;
    const model::allocation* memory = count != 0 ? find_managed(address, count) : nullptr;
    if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (memory->pool != nullptr)
      return CUDA_ERROR_NOT_SUPPORTED;  // memory of a pool accepts no advice
    model::managed_advice::advise(*memory, address, count, advice, reported_location(location));
    return CUDA_SUCCESS;
  });
}

// This version, unlike cuMemAdvise_v2, returns CUDA_ERROR_INVALID_DEVICE for an unknown device, if
// the advice needs a location and `count` is not 0.
CUresult cuMemAdvise(CUdeviceptr address, size_t count, CUmem_advise advice, CUdevice device) {
  const CUresult status = guarded_outside_host_functions([&] {
    model::context* context = nullptr;
    if (const CUresult error = current_context(context)) return error;
    const bool is_valid =
        device == CU_DEVICE_CPU || model::this_process().find_device(device) != nullptr;
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
  return guarded_outside_host_functions(with_current_context([&](model::context&) {
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
  }));
}

CUresult cuMemPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                 CUmemLocation* locations, size_t* indices, size_t location_count,
                                 unsigned long long flags, CUstream stream) {
  const ranges batch{addresses, sizes, count, flags};
  const prefetch_targets targets{locations, indices, location_count};
  return with_batch_stream(batch, stream, [&](model::stream& target_stream) {
    if (const CUresult error = check_ranges(target_stream, batch)) return error;
    if (const CUresult error = check_targets(targets, batch.count)) return error;
    std::size_t location_index = 0;
    for (std::size_t i = 0; i < batch.count; ++i) {
      while (location_index + 1 < targets.count && targets.first_indices[location_index + 1] <= i)
        ++location_index;
      const model::allocation* memory = find_managed(batch.addresses[i], batch.sizes[i]);
      if (memory == nullptr) continue;  // freed by another thread during this call
      model::managed_advice::record_prefetch(*memory, batch.addresses[i], batch.sizes[i],
                                             targets.locations[location_index]);
    }
    return CUDA_SUCCESS;
  });
}

// Only prefetches, because discarded memory may keep its contents.
CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                           CUmemLocation* locations, size_t* indices,
                                           size_t location_count, unsigned long long flags,
                                           CUstream stream) {
  return cuMemPrefetchBatchAsync(addresses, sizes, count, locations, indices, location_count, flags,
                                 stream);
}

// Only checks its arguments, because discarded memory may keep its contents.
CUresult cuMemDiscardBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                unsigned long long flags, CUstream stream) {
  const ranges batch{addresses, sizes, count, flags};
  return with_batch_stream(batch, stream, [&](model::stream& target_stream) {
    return check_ranges(target_stream, batch);
  });
}

}  // namespace weir::embedded::entry
