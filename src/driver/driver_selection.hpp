// driver/driver_selection.hpp - which driver the process runs on, decided once.
#pragma once

#include <weir/core/driver.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace weir::detail {

// What WEIR_DRIVER says: nothing where it is unset, empty or "auto". A word that it does not know
// is told in `problem`.
struct driver_setting {
  std::optional<driver_kind> kind;
  std::string problem;
};

[[nodiscard]] driver_setting parse_driver_setting(std::string_view value);

}  // namespace weir::detail
