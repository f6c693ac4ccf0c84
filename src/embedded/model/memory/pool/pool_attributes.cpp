// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_attributes.cpp - reads and writes attributes in the driver's
// format.
#include "embedded/model/memory/pool/pool_attributes.hpp"

#include <cstring>

namespace weir::embedded::model {

using namespace abi;

namespace {

// The caller's variable may be unaligned.
template <class Value>
CUresult store_value(void* destination, Value value) noexcept {
  std::memcpy(destination, &value, sizeof value);
  return CUDA_SUCCESS;
}

template <class Value>
Value load_value(const void* source) noexcept {
  Value value;
  std::memcpy(&value, source, sizeof value);
  return value;
}

// A high-water mark can only be reset to the current value, by setting it to 0.
CUresult reset_high(std::size_t& high, std::size_t current, const void* value) noexcept {
  if (load_value<cuuint64_t>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
  high = current;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult pool_attributes::get(CUmemPool_attribute attribute, void* value) const noexcept {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      return store_value<int>(value, follows_events);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: return store_value<int>(value, opportunistic);
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      return store_value<int>(value, internal_dependencies);
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      return store_value<cuuint64_t>(value, release_threshold);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return store_value<cuuint64_t>(value, reserved);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return store_value<cuuint64_t>(value, reserved_high);
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return store_value<cuuint64_t>(value, used);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return store_value<cuuint64_t>(value, used_high);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

CUresult pool_attributes::set(CUmemPool_attribute attribute, const void* value) noexcept {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
      follows_events = load_value<int>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
      opportunistic = load_value<int>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
      internal_dependencies = load_value<int>(value) != 0;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      release_threshold = load_value<cuuint64_t>(value);
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return reset_high(reserved_high, reserved, value);
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return reset_high(used_high, used, value);
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: break;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

}  // namespace weir::embedded::model
