// SPDX-License-Identifier: Apache-2.0
// driver/vendor.hpp - the GPU vendor's driver, opened at run time.
#pragma once

#include "driver/dropin_identity.hpp"
#include "driver/table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

// The oldest driver version that weir supports. It is the first with stream ids, by which weir
// orders its reports.
inline constexpr int min_driver_version = 12000;

// The result of opening a vendor's library. If there is no problem the driver is initialised and
// has a device.
struct vendor_driver {
  driver_table table;
  std::string library;  // the file it was loaded from
  int version = 0;      // from cuDriverGetVersion
  // The functions that the library lacks: their entries return
  // CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER.
  std::vector<std::string_view> missing_functions;
  const dropin_identity* dropin = nullptr;  // null if the library is not weir's drop-in

  std::string problem;           // why the driver cannot be used, as a sentence without a full stop
  CUresult code = CUDA_SUCCESS;  // the problem as a result
  const char* call = "dlopen";   // the function that failed

  [[nodiscard]] bool is_usable() const noexcept { return problem.empty(); }
};

// Opens a library by name or path, fills the table and initialises the driver. Problems are
// returned in the result. The library is never closed, because drivers cannot be unloaded safely.
// Throws: std::bad_alloc.
[[nodiscard]] vendor_driver open_vendor(const char* file);

// Returns true if the process has already loaded the library, and it is weir's drop-in.
[[nodiscard]] bool is_loaded_dropin(const char* file) noexcept;

}  // namespace weir::detail
