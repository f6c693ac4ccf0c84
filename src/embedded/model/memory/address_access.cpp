// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/address_access.cpp - the access of devices and the host to mapped memory.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <span>

#include "embedded/model/core/process.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/address_ranges.hpp"
#include "embedded/model/memory/address_space.hpp"

namespace weir::embedded::model::address_space {

using namespace abi;

namespace {

CUmemAccess_flags access_of(const mapping& target_mapping, const CUmemLocation& accessor) {
  CUmemAccess_flags found = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  // As on an H200, a query for the host reports at least the highest access of any device.
  if (accessor.type == CU_MEM_LOCATION_TYPE_HOST)
    found = target_mapping.record->access.load(std::memory_order_relaxed);
  for (const CUmemAccessDesc& desc : target_mapping.access) {
    if (same_location(desc.location, accessor)) found = std::max(found, desc.flags);
  }
  return found;
}

// Sets the access of a location to a mapping. Streams of all devices get the highest access of any
// device. Does not throw if the caller has reserved room for an element in `target_mapping.access`.
void grant(mapping& target_mapping, const CUmemAccessDesc& requested) {
  std::erase_if(target_mapping.access, [&](const CUmemAccessDesc& desc) {
    return same_location(desc.location, requested.location);
  });
  target_mapping.access.push_back(requested);
  CUmemAccess_flags maximum = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  for (const CUmemAccessDesc& desc : target_mapping.access) {
    if (desc.location.type == CU_MEM_LOCATION_TYPE_DEVICE) maximum = std::max(maximum, desc.flags);
  }
  target_mapping.record->access.store(maximum, std::memory_order_relaxed);
}

// Returns true if access of this location can be set and queried: of a device of the process, or of
// the host.
bool is_accessor(const CUmemLocation& accessor) {
  if (accessor.type == CU_MEM_LOCATION_TYPE_DEVICE)
    return this_process().find_device(accessor.id) != nullptr;
  return accessor.type == CU_MEM_LOCATION_TYPE_HOST ||
         accessor.type == CU_MEM_LOCATION_TYPE_HOST_NUMA;
}

// Returns an error if `requested` is not possible for memory at `memory_location`. The host cannot
// have access to the memory of a device; to set that it has none is allowed.
CUresult check_access(const CUmemAccessDesc& requested, const CUmemLocation& memory_location) {
  if (requested.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
      requested.flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
      requested.flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
    return CUDA_ERROR_INVALID_VALUE;
  if (!is_accessor(requested.location)) return CUDA_ERROR_INVALID_VALUE;
  return requested.location.type != CU_MEM_LOCATION_TYPE_DEVICE &&
                 requested.flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
                 memory_location.type == CU_MEM_LOCATION_TYPE_DEVICE
             ? CUDA_ERROR_NOT_SUPPORTED
             : CUDA_SUCCESS;
}

}  // namespace

CUresult set_access(std::uintptr_t address, std::size_t bytes,
                    std::span<const CUmemAccessDesc> requested) {
  const std::lock_guard lock{reserved().mutex};
  const auto containing_range = find_containing(reserved().ranges, address);
  if (!is_valid_range(address, bytes) || containing_range == reserved().ranges.end())
    return CUDA_ERROR_INVALID_VALUE;
  const mappings covered = mappings_in(containing_range->second, address, bytes);
  if (!covered.whole || !covered.gapless) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& [start, mapping] : covered) {
    for (const CUmemAccessDesc& desc : requested) {
      const CUresult status = check_access(desc, mapping.memory->properties.location);
      if (status != CUDA_SUCCESS) return status;
    }
  }
  for (auto& [start, mapping] : covered) {
    // reserve() is the last call that may throw for this mapping.
    mapping.access.reserve(mapping.access.size() + requested.size());
    for (const CUmemAccessDesc& desc : requested) grant(mapping, desc);
  }
  return CUDA_SUCCESS;
}

CUresult get_access(std::uintptr_t address, const CUmemLocation& accessor, CUmemAccess_flags& out) {
  if (!is_accessor(accessor)) return CUDA_ERROR_INVALID_DEVICE;
  const std::shared_lock lock{reserved().mutex};
  if (const mapping* const found = mapping_at(reserved().ranges, address)) {
    out = access_of(*found, accessor);
    return CUDA_SUCCESS;
  }
  // Memory of the driver outside of reserved ranges reports no access.
  if (address_map::find(address) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

bool allows(int device, std::uintptr_t address, std::size_t bytes, CUmemAccess_flags requested) {
  const CUmemLocation accessor{CU_MEM_LOCATION_TYPE_DEVICE, device};
  const std::shared_lock lock{reserved().mutex};
  const auto containing_range = find_containing(reserved().ranges, address);
  if (containing_range == reserved().ranges.end()) return false;
  const auto& mapped = containing_range->second.mapped;
  for (auto entry = find_containing(mapped, address);
       entry != mapped.end() && entry->first < address + bytes; ++entry) {
    if ((access_of(entry->second, accessor) & requested) != requested) return false;
  }
  return true;
}

}  // namespace weir::embedded::model::address_space
