// SPDX-License-Identifier: Apache-2.0
// api/memory/memory_location.hpp - converts a weir::memory_location to the driver's type.
#pragma once

#include "driver/abi.hpp"

#include <weir/memory/memory_location.hpp>

namespace weir::detail {

[[nodiscard]] constexpr abi::CUmemLocation location_of(memory_location location) noexcept {
  return {static_cast<abi::CUmemLocationType>(location.type()), location.id()};
}

}  // namespace weir::detail
