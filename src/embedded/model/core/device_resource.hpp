// SPDX-License-Identifier: Apache-2.0
// model/core/device_resource.hpp - parts of a device: sets of multiprocessors, and their division.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;

// A part of a device: a number of its multiprocessors. Only their count is stored, because no work
// is bound to a particular multiprocessor (docs/guide/green-contexts.md).
struct device_resource {
  device* owner = nullptr;
  unsigned count = 0;
  // True if the part consists of groups of multiprocessors that can each run a cluster of blocks.
  bool coscheduled = true;
  // The ID of the split_by_count() call that made this part. Such a part cannot be divided again. 0
  // for any other part.
  std::uint64_t split = 0;

  [[nodiscard]] static device_resource whole(device& owner);

  // Stores this part in a CUdevResource, which the program holds.
  void write(abi::CUdevResource& out) const noexcept;
  // Returns the part that write() has stored; nothing for bytes that write() did not produce.
  [[nodiscard]] static std::optional<device_resource> read(
      const abi::CUdevResource& resource) noexcept;
};

// The result of dividing a part of a device into equal groups (cuDevSmResourceSplitByCount).
struct sm_split {
  unsigned groups = 0;    // the largest number of groups into which the part can be divided
  device_resource group;  // the part that each group is
};

// Divides a part into groups of at least `requested` multiprocessors. `flags`:
// CU_DEV_SM_RESOURCE_SPLIT_*. Returns CUDA_SUCCESS or an error.
abi::CUresult split_by_count(const device_resource& whole, unsigned requested, unsigned flags,
                             sm_split& out) noexcept;

// Returns the part that remains after `used_groups` groups of the split are taken.
[[nodiscard]] device_resource remaining_after(const device_resource& whole, const sm_split& taken,
                                              unsigned used_groups) noexcept;

// Merges parts, at least one, for a green context. Returns
// CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION if they belong to several devices.
abi::CUresult merge_parts(std::span<const device_resource> parts, device_resource& out) noexcept;

// The object that cuDevResourceGenerateDesc makes. CUDA has no call that destroys it.
struct resource_desc {
  device_resource part;
};

}  // namespace weir::embedded::model
