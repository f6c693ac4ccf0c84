// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_attributes.hpp - the attributes of a memory pool: policies and
// byte counts.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// Thread safety: none; the pool's lock guards it.
struct pool_attributes {
  // Which blocks an allocation may reuse besides those of its own stream (memory_pool.hpp).
  bool follows_events = true;
  bool opportunistic = true;
  bool internal_dependencies = true;

  std::size_t release_threshold = 0;  // idle memory above it returns to the device
  std::size_t reserved = 0, reserved_high = 0;
  std::size_t used = 0, used_high = 0;

  // Get and set one attribute: the reuse policies as int, all others as 64-bit values. Return
  // CUDA_ERROR_INVALID_VALUE for an unknown attribute, or one that cannot be set to this value.
  abi::CUresult get(abi::CUmemPool_attribute attribute, void* value) const noexcept;
  abi::CUresult set(abi::CUmemPool_attribute attribute, const void* value) noexcept;
};

}  // namespace weir::embedded::model
