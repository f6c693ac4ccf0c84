// driver/vendor.hpp - the GPU vendor's driver, opened at run time.
#pragma once

#include "driver/table.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace weir::detail {

// The oldest driver that weir uses. Stream ids, which order everything that weir reports, came with
// it.
inline constexpr int min_driver_version = 12000;

// A vendor's library as it was found. Usable if there is no problem; then it is initialised and has
// a device.
struct vendor_driver {
  driver_table table;
  std::string library;  // the file it was loaded from
  int version = 0;      // as cuDriverGetVersion says
  std::vector<std::string_view>
      missing_functions;  // whose place in the table answers CALL_REQUIRES_NEWER_DRIVER

  std::string problem;           // why it cannot be used, as a sentence without its full stop
  CUresult code = CUDA_SUCCESS;  // the same as a result
  const char* call = "dlopen";   // the function that found out

  [[nodiscard]] bool is_usable() const noexcept { return problem.empty(); }
};

// Opens a library by name or path, fills the table and initialises the driver. Whatever is wrong is
// told in the result; throws nothing but std::bad_alloc. The library stays open: drivers do not
// survive being unloaded.
[[nodiscard]] vendor_driver open_vendor(const char* file);

}  // namespace weir::detail
