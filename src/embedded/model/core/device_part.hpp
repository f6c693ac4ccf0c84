// model/device_part.hpp - parts of a device: how many multiprocessors, and how they are divided.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;

// Some of a device's multiprocessors. They are counted, not numbered: nothing that runs here is bound to one (docs/guide/green-contexts.md).
struct device_part {
  device* of = nullptr;
  unsigned count = 0;
  bool together = true;     // in groups that can run a cluster of blocks
  std::uint64_t split = 0;  // the number of the division that it came from; 0: not from one, and may be divided

  [[nodiscard]] static device_part whole(device& of);

  // What a program holds of it. read() knows only what write() has made: nothing for any other bytes.
  void write(abi::CUdevResource& out) const noexcept;
  [[nodiscard]] static std::optional<device_part> read(const abi::CUdevResource& in) noexcept;
};

// How a part would be divided (cuDevSmResourceSplitByCount).
struct division {
  unsigned groups = 0;  // as many as there can be
  device_part group;    // each of them
};

// Divides into groups of at least `wanted`, with CU_DEV_SM_RESOURCE_SPLIT_*. CUDA_SUCCESS, or what is wrong.
abi::CUresult divide(const device_part& whole, unsigned wanted, unsigned flags, division& out) noexcept;

// What is left of it once some groups are taken.
[[nodiscard]] device_part rest_of(const device_part& whole, const division& by, unsigned taken) noexcept;

// Puts parts together, for a green context. CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION if they are of several devices.
abi::CUresult unite(std::span<const device_part> parts, device_part& out) noexcept;

// What cuDevResourceGenerateDesc makes. CUDA has no way to end one.
struct resource_desc {
  device_part part;
};

}  // namespace weir::embedded::model
