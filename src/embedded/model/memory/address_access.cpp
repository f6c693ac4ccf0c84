// model/address_access.cpp - what devices and the host may do with what is mapped.
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

bool is_same(const CUmemLocation& one, const CUmemLocation& other) {
  return one.type == other.type && one.id == other.id;
}

CUmemAccess_flags access_of(const mapping& in, const CUmemLocation& accessor) {
  // The host is told what the device may do, as an H200 tells it.
  if (accessor.type == CU_MEM_LOCATION_TYPE_HOST)
    return in.record->access.load(std::memory_order_relaxed);
  for (const CUmemAccessDesc& each : in.access) {
    if (is_same(each.location, accessor)) return each.flags;
  }
  return CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

// Makes a place's access what is wanted. What streams may do is what any device may.
void grant(mapping& in, const CUmemAccessDesc& wanted) {
  std::erase_if(in.access, [&](const CUmemAccessDesc& each) {
    return is_same(each.location, wanted.location);
  });
  in.access.push_back(wanted);
  CUmemAccess_flags most = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  for (const CUmemAccessDesc& each : in.access) {
    if (each.location.type == CU_MEM_LOCATION_TYPE_DEVICE) most = std::max(most, each.flags);
  }
  in.record->access.store(most, std::memory_order_relaxed);
}

// May a place be given access to memory that lies somewhere?
CUresult check(const CUmemAccessDesc& wanted, const CUmemLocation& memory) {
  switch (wanted.flags) {
    case CU_MEM_ACCESS_FLAGS_PROT_NONE:
    case CU_MEM_ACCESS_FLAGS_PROT_READ:
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE: break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  switch (wanted.location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
      return this_process().find_device(wanted.location.id) != nullptr ? CUDA_SUCCESS
                                                                       : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return memory.type == CU_MEM_LOCATION_TYPE_DEVICE ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
    case CU_MEM_LOCATION_TYPE_INVALID: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

bool is_queryable(const CUmemLocation& accessor) {
  switch (accessor.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return this_process().find_device(accessor.id) != nullptr;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: return true;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
    case CU_MEM_LOCATION_TYPE_INVALID: break;
  }
  return false;
}

}  // namespace

CUresult set_access(std::uintptr_t at, std::size_t bytes, std::span<const CUmemAccessDesc> wanted) {
  reservations& everything = all();
  const std::lock_guard lock{everything.mutex};
  const auto around = find_containing(everything.ranges, at);
  if (!is_valid_range(at, bytes) || around == everything.ranges.end())
    return CUDA_ERROR_INVALID_VALUE;
  const mappings there = mappings_in(around->second, at, bytes);
  if (!there.whole || !there.gapless) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& [start, each] : there) {
    for (const CUmemAccessDesc& desc : wanted) {
      const CUresult status = check(desc, each.memory->properties.location);
      if (status != CUDA_SUCCESS) return status;
    }
  }
  for (auto& [start, each] : there) {
    each.access.reserve(each.access.size() +
                        wanted.size());  // the last that may throw for this one
    for (const CUmemAccessDesc& desc : wanted) grant(each, desc);
  }
  return CUDA_SUCCESS;
}

CUresult get_access(std::uintptr_t at, const CUmemLocation& accessor, CUmemAccess_flags& out) {
  if (!is_queryable(accessor)) return CUDA_ERROR_INVALID_DEVICE;
  reservations& everything = all();
  const std::shared_lock lock{everything.mutex};
  if (const mapping* const found = mapping_at(everything.ranges, at)) {
    out = access_of(*found, accessor);
    return CUDA_SUCCESS;
  }
  // Of memory that came about in another way there is nothing to give.
  if (address_map::find(at) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  out = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  return CUDA_SUCCESS;
}

bool allows(int device, std::uintptr_t at, std::size_t bytes, CUmemAccess_flags wanted) {
  const CUmemLocation accessor{CU_MEM_LOCATION_TYPE_DEVICE, device};
  reservations& everything = all();
  const std::shared_lock lock{everything.mutex};
  const auto around = find_containing(everything.ranges, at);
  if (around == everything.ranges.end()) return false;
  const auto& mapped = around->second.mapped;
  for (auto each = find_containing(mapped, at); each != mapped.end() && each->first < at + bytes;
       ++each) {
    if ((access_of(each->second, accessor) & wanted) != wanted) return false;
  }
  return true;
}

}  // namespace weir::embedded::model::address_space
