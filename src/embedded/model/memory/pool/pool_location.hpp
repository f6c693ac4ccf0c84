// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/pool/pool_location.hpp - the location and kind of a memory pool's memory.
#pragma once

#include "driver/abi.hpp"
#include "embedded/model/memory/physical_memory.hpp"

namespace weir::embedded::model {

// The location of a pool's memory: a device, the host, or a NUMA node of the host. For managed
// memory, which has no fixed location, it is the preferred location, or
// CU_MEM_LOCATION_TYPE_INVALID. The entry points normalise locations, so that two values are equal
// only if they mean one location.
struct pool_location {
  abi::CUmemAllocationType type = abi::CU_MEM_ALLOCATION_TYPE_PINNED;
  abi::CUmemLocation cuda_location{abi::CU_MEM_LOCATION_TYPE_DEVICE, 0};

  [[nodiscard]] bool is_managed() const noexcept {
    return type == abi::CU_MEM_ALLOCATION_TYPE_MANAGED;
  }
  // Returns true if the memory counts against a device.
  [[nodiscard]] bool is_device() const noexcept {
    return !is_managed() && cuda_location.type == abi::CU_MEM_LOCATION_TYPE_DEVICE;
  }
  // Returns true if copies and attributes treat the memory as host memory.
  [[nodiscard]] bool is_host() const noexcept { return !is_managed() && !is_device(); }

  friend bool operator==(const pool_location& a, const pool_location& b) noexcept {
    return a.type == b.type && same_location(a.cuda_location, b.cuda_location);
  }
};

}  // namespace weir::embedded::model
