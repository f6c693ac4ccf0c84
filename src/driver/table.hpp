// SPDX-License-Identifier: Apache-2.0
// driver/table.hpp - the seam: the CUDA driver API as a table of functions, and the table in use.
#pragma once

#include "driver/abi.hpp"
#include "driver/driver_activity.hpp"

#include <weir/core/call_site.hpp>

#include <atomic>

namespace weir::detail {

using namespace abi;

// The functions of a driver: a pointer for every line of functions.def, named after the exported
// symbol. A table in use has no null pointers: a function that the vendor's library lacks returns
// CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER.
struct driver_table {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  CUresult(*symbol) parameters = nullptr;
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

// The table that driver() returns; null until the first use. Tests replace it to observe calls and
// to let them fail.
inline constinit std::atomic<const driver_table*> table_in_use{nullptr};

// Chooses a driver, initialises it and sets table_in_use. Throws weir::error if the environment
// requests a driver that is not available, or has an invalid value. Thread safety: one thread
// chooses, and the others wait for it.
// The error names `at`.
[[nodiscard]] const driver_table& select_driver(call_site at = {});

// Returns the driver in use, chosen at the first call: driver().cuStreamQuery(s). weir's own polls
// read table_in_use instead, so that they do not count as calls of the program.
[[nodiscard]] inline const driver_table& driver() {
  const driver_table* table = table_in_use.load(std::memory_order_acquire);
  if (table == nullptr) [[unlikely]] {
    return select_driver();
  }
  record_driver_call();
  return *table;
}

// Like driver(). If this is the first use and no driver can be chosen, the error names `at`. Used
// by the functions with which programs begin, such as the constructors of streams and graphs.
[[nodiscard]] inline const driver_table& driver(call_site at) {
  const driver_table* table = table_in_use.load(std::memory_order_acquire);
  if (table == nullptr) [[unlikely]] {
    return select_driver(at);
  }
  record_driver_call();
  return *table;
}

}  // namespace weir::detail
