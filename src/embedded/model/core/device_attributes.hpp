// model/device_attributes.hpp - the attributes of an embedded device.
#pragma once

#include <array>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// Values by CU_DEVICE_ATTRIBUTE_*; number 0 is no attribute.
using device_attributes = std::array<int, abi::CU_DEVICE_ATTRIBUTE_MAX>;

[[nodiscard]] device_attributes describe_attributes(int ordinal) noexcept;

}  // namespace weir::embedded::model
