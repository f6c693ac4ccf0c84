// SPDX-License-Identifier: Apache-2.0
// embedded/entry/memory/managed_range.hpp - checks of managed memory ranges.
#pragma once

#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"

namespace weir::embedded::entry {

// Finds the managed memory that contains the whole range; null if there is none.
inline const model::allocation* find_managed(abi::CUdeviceptr address, std::size_t bytes) {
  const model::allocation* found = model::address_map::find(address);
  if (found == nullptr || !model::is_managed(*found)) return nullptr;
  return found->holds_range(address, bytes) ? found : nullptr;
}

// Returns CUDA_SUCCESS if managed memory can have this location: a device, the host, or NUMA node
// 0, the host's only node.
inline abi::CUresult check_location(const model::process& p, const abi::CUmemLocation& location) {
  switch (location.type) {
    case abi::CU_MEM_LOCATION_TYPE_DEVICE:
      return p.find_device(location.id) != nullptr ? abi::CUDA_SUCCESS
                                                   : abi::CUDA_ERROR_INVALID_DEVICE;
    case abi::CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return location.id == 0 ? abi::CUDA_SUCCESS : abi::CUDA_ERROR_INVALID_VALUE;
    case abi::CU_MEM_LOCATION_TYPE_HOST:
    case abi::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return abi::CUDA_SUCCESS;
    case abi::CU_MEM_LOCATION_TYPE_INVALID: break;
  }
  return abi::CUDA_ERROR_INVALID_VALUE;
}

}  // namespace weir::embedded::entry
