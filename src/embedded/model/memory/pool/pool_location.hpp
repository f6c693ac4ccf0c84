// model/pool_location.hpp - where a memory pool has its memory, and of what kind that is.
#pragma once

#include "driver/abi.hpp"

namespace weir::embedded::model {

// A place that there can be pools of: a device; the host, all of it or a node; and for managed
// memory, which is at no place for good, the one that it prefers, or none. Normal: equal ones are
// the same place.
struct pool_location {
  abi::CUmemAllocationType type = abi::CU_MEM_ALLOCATION_TYPE_PINNED;
  abi::CUmemLocation at{abi::CU_MEM_LOCATION_TYPE_DEVICE, 0};

  [[nodiscard]] bool is_managed() const noexcept {
    return type == abi::CU_MEM_ALLOCATION_TYPE_MANAGED;
  }
  // Does its memory count as a device's?
  [[nodiscard]] bool is_device() const noexcept {
    return !is_managed() && at.type == abi::CU_MEM_LOCATION_TYPE_DEVICE;
  }
  // Is its memory host memory to copies and attributes?
  [[nodiscard]] bool is_host() const noexcept { return !is_managed() && !is_device(); }

  friend bool operator==(const pool_location& a, const pool_location& b) noexcept {
    return a.type == b.type && a.at.type == b.at.type && a.at.id == b.at.id;
  }
};

}  // namespace weir::embedded::model
