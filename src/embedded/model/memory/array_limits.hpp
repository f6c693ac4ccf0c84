// SPDX-License-Identifier: Apache-2.0
// embedded/model/memory/array_limits.hpp - the formats and extents of the arrays that a device
// supports.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;

// The properties of a format.
struct format_traits {
  std::size_t channel_bytes;  // 0 for a format that arrays do not support
  unsigned channels;          // the required number of channels; any_channels stands for 1, 2 or 4
};
inline constexpr unsigned any_channels = 0;
[[nodiscard]] format_traits traits_of(abi::CUarray_format format) noexcept;

// Returns CUDA_ERROR_INVALID_VALUE for a format, channels, flags or an extent that the device does
// not support.
[[nodiscard]] abi::CUresult check_array(const device& target_device,
                                        const abi::CUDA_ARRAY3D_DESCRIPTOR& requested) noexcept;

}  // namespace weir::embedded::model
