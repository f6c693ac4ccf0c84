// SPDX-License-Identifier: Apache-2.0
// tools/weir/device_by_ordinal.hpp - looks up the device of the --device option.
#pragma once

#include <weir/device/device.hpp>

namespace weir::tool {

// Returns the device with this ordinal. Throws failure if there is none.
[[nodiscard]] weir::device device_by_ordinal(int ordinal);

}  // namespace weir::tool
