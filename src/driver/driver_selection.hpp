// SPDX-License-Identifier: Apache-2.0
// driver/driver_selection.hpp - chooses the driver of the process, once.
#pragma once

#include <weir/core/driver.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace weir::detail {

// The value of WEIR_DRIVER. `kind` is empty if it is unset, empty or "auto". `problem` describes an
// unknown value.
struct driver_setting {
  std::optional<driver_kind> kind;
  std::string problem;
};

[[nodiscard]] driver_setting parse_driver_setting(std::string_view value);

}  // namespace weir::detail
