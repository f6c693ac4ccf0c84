// driver/table.hpp - the seam: the CUDA driver API as a table of functions, and the table in use.
#pragma once

#include "driver/abi.hpp"
#include "driver/driver_activity.hpp"

#include <atomic>

namespace weir::detail {

using namespace abi;

// One pointer for every line of functions.def, under the exported symbol's name. A table that is in
// use has no null in it: what the vendor's library lacks is filled with a function that answers
// CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER.
struct driver_table {
#define WEIR_FUNCTION(symbol, base, version, variant, parameters, arguments) \
  CUresult(*symbol) parameters = nullptr;
#include "driver/functions.def"
#undef WEIR_FUNCTION
};

// The table that driver() answers with; null until the first use. Tests swap it to observe and to
// fail calls.
inline constinit std::atomic<const driver_table*> table_in_use{nullptr};

// Chooses a driver, initialises it and sets table_in_use. Throws weir::error if the environment
// asks for what cannot be. Safe from several threads at once: one chooses, the others wait for it.
[[nodiscard]] const driver_table& select_driver();

// The driver in use, chosen at the first call. Every call into a driver goes through here:
// driver().cuStreamQuery(s).
[[nodiscard]] inline const driver_table& driver() {
  const driver_table* table = table_in_use.load(std::memory_order_acquire);
  if (table == nullptr) [[unlikely]] {
    return select_driver();
  }
  record_driver_call();
  return *table;
}

}  // namespace weir::detail
