// device_by_ordinal.hpp - the device that a command was asked to use.
#pragma once

#include <weir/device/device.hpp>

namespace weir::tool {

// Throws failure where there are not so many.
[[nodiscard]] weir::device device_by_ordinal(int ordinal);

}  // namespace weir::tool
