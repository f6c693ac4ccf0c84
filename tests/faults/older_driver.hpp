// SPDX-License-Identifier: Apache-2.0
// faults/older_driver.hpp - a driver without the functions that came after a version of CUDA.
#pragma once

#include "support/fault_table.hpp"

namespace weir::test {

// While an object exists, newer functions return CALL_REQUIRES_NEWER_DRIVER, like functions that a
// driver library lacks. The version is in cuDriverGetVersion's form: 12020.
class older_driver {
 public:
  explicit older_driver(int version) {
#define WEIR_FUNCTION(symbol, base, first, variant, parameters, arguments) \
  if (version < first)                                                     \
    calls.fail_from(&detail::driver_table::symbol, 1, abi::CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER);
#include "driver/functions.def"
#undef WEIR_FUNCTION
  }

  detail::fault_table calls;
};

}  // namespace weir::test
