// model/array_limits.hpp - which arrays a device has.
#pragma once

#include <cstddef>

#include "driver/abi.hpp"

namespace weir::embedded::model {

class device;

// The bytes of one channel of a format; 0 for a format that arrays do not have.
[[nodiscard]] std::size_t format_bytes(abi::CUarray_format format) noexcept;

// Is there such an array on the device? CUDA_ERROR_INVALID_VALUE for a format, channels, flags or an extent that it
// has not.
[[nodiscard]] abi::CUresult check_array(const device& on, const abi::CUDA_ARRAY3D_DESCRIPTOR& wanted) noexcept;

}  // namespace weir::embedded::model
