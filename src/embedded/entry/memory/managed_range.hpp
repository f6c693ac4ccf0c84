// entry/managed_range.hpp - what calls about ranges of managed memory check.
#pragma once

#include "embedded/entry/guard.hpp"
#include "embedded/model/memory/address_map.hpp"
#include "embedded/model/memory/pool/memory_pool.hpp"

namespace weir::embedded::entry {

// Managed memory that holds all of these bytes; null where there is none.
inline const model::allocation* find_managed(abi::CUdeviceptr address, std::size_t bytes) {
  const model::allocation* found = model::address_map::find(address);
  if (found == nullptr || !model::is_managed(*found)) return nullptr;
  return found->holds_range(address, bytes) ? found : nullptr;
}

// A place that managed memory can be at. The host has one node.
inline abi::CUresult check_place(const model::process& p, const abi::CUmemLocation& where) {
  switch (where.type) {
    case abi::CU_MEM_LOCATION_TYPE_DEVICE:
      return p.find_device(where.id) != nullptr ? abi::CUDA_SUCCESS
                                                : abi::CUDA_ERROR_INVALID_DEVICE;
    case abi::CU_MEM_LOCATION_TYPE_HOST_NUMA:
      return where.id == 0 ? abi::CUDA_SUCCESS : abi::CUDA_ERROR_INVALID_VALUE;
    case abi::CU_MEM_LOCATION_TYPE_HOST:
    case abi::CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return abi::CUDA_SUCCESS;
    case abi::CU_MEM_LOCATION_TYPE_INVALID: break;
  }
  return abi::CUDA_ERROR_INVALID_VALUE;
}

}  // namespace weir::embedded::entry
