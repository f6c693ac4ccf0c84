// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_attributes.hpp - the attributes of a memory pool: policies and
// byte counts.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// Thread safety: none; the pool's lock guards it.
struct pool_attributes {
  // The attributes CU_MEMPOOL_ATTR_REUSE_*: FOLLOW_EVENT_DEPENDENCIES, ALLOW_OPPORTUNISTIC and
  // ALLOW_INTERNAL_DEPENDENCIES. They select which blocks an allocation may reuse in addition to
  // those that were freed in its own stream (memory_pool.hpp).
  bool follows_events = true;
  bool opportunistic = true;
  bool internal_dependencies = true;

  std::size_t release_threshold = 0;  // idle memory above it returns to the device
  // Bytes reserved from the device, bytes of blocks in use, and the high-water mark of each.
  std::size_t reserved = 0, reserved_high = 0;
  std::size_t used = 0, used_high = 0;

  // Stores the value of one attribute in `*value`: an int for a reuse policy, else a 64-bit value.
  // Returns CUDA_ERROR_INVALID_VALUE for an unknown attribute.
  abi::CUresult get(abi::CUmemPool_attribute attribute, void* value) const noexcept;
  // Sets one attribute from `*value`, which has the type of get(). Returns CUDA_ERROR_INVALID_VALUE
  // for an unknown attribute, or one that cannot be set to this value.
  abi::CUresult set(abi::CUmemPool_attribute attribute, const void* value) noexcept;
};

}  // namespace weir::embedded::model
