// SPDX-License-Identifier: Apache-2.0
// model/core/device_attributes.hpp - the attributes of an embedded device.
#pragma once

#include <array>

#include "driver/abi.hpp"

namespace weir::embedded::model {

// Values indexed by CU_DEVICE_ATTRIBUTE_*; index 0 is not an attribute.
using device_attributes = std::array<int, abi::CU_DEVICE_ATTRIBUTE_MAX>;

[[nodiscard]] device_attributes describe_attributes(int number) noexcept;

}  // namespace weir::embedded::model
