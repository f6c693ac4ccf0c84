// faults/older_driver.hpp - a driver that has no functions that came after some version of CUDA.
#pragma once

#include "support/fault_table.hpp"

namespace weir::test {

// While one lives, functions that are newer answer CALL_REQUIRES_NEWER_DRIVER, as those that a
// library lacks do. The version is as cuDriverGetVersion tells it: 12020.
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
