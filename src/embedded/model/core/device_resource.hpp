// SPDX-License-Identifier: Apache-2.0
// model/core/device_resource.hpp - parts of a device: sets of multiprocessors, and their division.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;

// A number of a device's multiprocessors. They are counted, not numbered: no work is bound to a
// multiprocessor (docs/guide/green-contexts.md).
struct device_resource {
  device* owner = nullptr;
  unsigned count = 0;
  bool coscheduled = true;  // consists of groups that can run a cluster of blocks
  // The ID of the split that made it; 0 if it was not split off and may be divided.
  std::uint64_t split = 0;

  [[nodiscard]] static device_resource whole(device& owner);

  // Write to and read from the CUdevResource that a program holds. read() returns nothing for bytes
  // that write() did not produce.
  void write(abi::CUdevResource& out) const noexcept;
  [[nodiscard]] static std::optional<device_resource> read(
      const abi::CUdevResource& resource) noexcept;
};

// The result of dividing a part (cuDevSmResourceSplitByCount).
struct sm_split {
  unsigned groups = 0;    // the largest possible number of groups
  device_resource group;  // each of them
};

// Divides into groups of at least `requested` multiprocessors. `flags`: CU_DEV_SM_RESOURCE_SPLIT_*.
// Returns CUDA_SUCCESS or an error.
abi::CUresult split_by_count(const device_resource& whole, unsigned requested, unsigned flags,
                             sm_split& out) noexcept;

// Returns the part that remains after `used_groups` groups of the split are taken.
[[nodiscard]] device_resource remaining_after(const device_resource& whole, const sm_split& taken,
                                              unsigned used_groups) noexcept;

// Merges parts for a green context. Returns CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION if they
// belong to several devices.
abi::CUresult merge_parts(std::span<const device_resource> parts, device_resource& out) noexcept;

// The object that cuDevResourceGenerateDesc makes. CUDA has no call that destroys it.
struct resource_desc {
  device_resource part;
};

}  // namespace weir::embedded::model
