// SPDX-License-Identifier: Apache-2.0
// tools/weir/device_by_ordinal.cpp - looks up the device of the --device option.
#include "device_by_ordinal.hpp"

#include "failure.hpp"

#include <fmt/format.h>

#include <weir/core/driver.hpp>

namespace weir::tool {

weir::device device_by_ordinal(int ordinal) {
  const int count = weir::device::count();
  if (ordinal >= count) {
    throw failure{fmt::format("there is no device {}: the {} driver has {}, numbered from 0",
                              ordinal, to_string(current_driver().kind), count)};
  }
  return weir::device{ordinal};
}

}  // namespace weir::tool
