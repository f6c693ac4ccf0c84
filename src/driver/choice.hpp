// driver/choice.hpp - which driver the process runs on, decided once.
#pragma once

#include <weir/core/driver.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace weir::detail {

// What WEIR_DRIVER says: nothing where it is unset, empty or "auto". A word that it does not know is told in `problem`.
struct wished_driver {
  std::optional<driver_kind> kind;
  std::string problem;
};

[[nodiscard]] wished_driver parse_wish(std::string_view value);

}  // namespace weir::detail
