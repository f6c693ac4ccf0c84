// api/core/location.hpp - places as the driver names them.
#pragma once

#include "driver/abi.hpp"

#include <weir/memory/memory_place.hpp>

namespace weir::detail {

[[nodiscard]] constexpr abi::CUmemLocation location_of(memory_place place) noexcept {
  return {static_cast<abi::CUmemLocationType>(place.type()), place.id()};
}

}  // namespace weir::detail
