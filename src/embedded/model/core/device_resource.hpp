// model/device_resource.hpp - parts of a device: how many multiprocessors, and how they are
// divided.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;

// Some of a device's multiprocessors. They are counted, not numbered: nothing that runs here is
// bound to one (docs/guide/green-contexts.md).
struct device_resource {
  device* of = nullptr;
  unsigned count = 0;
  bool coscheduled = true;  // in groups that can run a cluster of blocks
  std::uint64_t split =
      0;  // the number of the division that it came from; 0: not from one, and may be divided

  [[nodiscard]] static device_resource whole(device& of);

  // What a program holds of it. read() knows only what write() has made: nothing for any other
  // bytes.
  void write(abi::CUdevResource& out) const noexcept;
  [[nodiscard]] static std::optional<device_resource> read(const abi::CUdevResource& in) noexcept;
};

// How a part would be divided (cuDevSmResourceSplitByCount).
struct sm_split {
  unsigned groups = 0;    // as many as there can be
  device_resource group;  // each of them
};

// Divides into groups of at least `wanted`, with CU_DEV_SM_RESOURCE_SPLIT_*. CUDA_SUCCESS, or what
// is wrong.
abi::CUresult split_by_count(const device_resource& whole, unsigned wanted, unsigned flags,
                             sm_split& out) noexcept;

// What is left of it once some groups are taken.
[[nodiscard]] device_resource remaining_after(const device_resource& whole, const sm_split& by,
                                              unsigned taken) noexcept;

// Puts parts together, for a green context. CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION if they are
// of several devices.
abi::CUresult merge_parts(std::span<const device_resource> parts, device_resource& out) noexcept;

// What cuDevResourceGenerateDesc makes. CUDA has no way to end one.
struct resource_desc {
  device_resource part;
};

}  // namespace weir::embedded::model
