// SPDX-License-Identifier: Apache-2.0
// embedded/driver.hpp - the embedded driver's function table for its tests.
#pragma once

#include "embedded/table.hpp"

namespace weir::embedded {

inline const detail::driver_table& driver = table();

}  // namespace weir::embedded
