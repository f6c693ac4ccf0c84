// model/array_limits.hpp - which arrays a device has.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;

// What is known of a format.
struct format_traits {
  std::size_t channel_bytes;  // 0 for a format that arrays do not have
  unsigned channels;          // how many an element has to have; any_channels: 1, 2 or 4
};
inline constexpr unsigned any_channels = 0;
[[nodiscard]] format_traits traits_of(abi::CUarray_format format) noexcept;

// Is there such an array on the device? CUDA_ERROR_INVALID_VALUE for a format, channels, flags or
// an extent that it has not.
[[nodiscard]] abi::CUresult check_array(const device& on,
                                        const abi::CUDA_ARRAY3D_DESCRIPTOR& wanted) noexcept;

}  // namespace weir::embedded::model
