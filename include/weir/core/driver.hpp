// weir/core/driver.hpp - the driver that the program runs on: the GPU vendor's, or the embedded one
// that needs no GPU.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace weir {

enum class driver_kind {
  cuda,      // the vendor's libcuda.so.1, opened at run time
  embedded,  // weir's own, whose devices are parts of the host
};

// "cuda" or "embedded": the words of WEIR_DRIVER.
[[nodiscard]] WEIR_EXPORT std::string_view to_string(driver_kind kind) noexcept;

// What was chosen, why, and what was found on the way.
struct driver_info {
  driver_kind kind = driver_kind::embedded;
  std::string reason;  // what decided, as a sentence without its full stop
  int version = 0;     // of the driver API: 1000 * major + 10 * minor, 13000 is CUDA 13.0
  std::string
      library;  // the file that the vendor's driver was loaded from; empty for the embedded one

  // Why the vendor's driver cannot be used on this machine; empty where it is used or was not
  // looked for.
  std::string vendor_problem;

  // Functions that this weir knows and the driver lacks, because it is older. Calls that need one
  // of them fail with errc::call_requires_newer_driver; all others work.
  std::vector<std::string_view> missing_functions;
};

// Chooses the driver of the whole process and initialises it. Without this call the first use of
// weir chooses: by the environment variable WEIR_DRIVER (auto, cuda or embedded), else the vendor's
// driver where it has a device, else the embedded one. Call it first in main: a driver that is in
// use cannot be changed. Naming the driver that is already in use does nothing. Throws error:
// illegal_state if the other driver is in use already; invalid_value if a variable of the embedded
// driver has a value that it does not know; and if the vendor's driver cannot be used,
// file_not_found (no library), shared_object_symbol_not_found (not a CUDA driver),
// system_driver_mismatch (too old), no_device, or the vendor's own code, with what was tried.
// Nothing is chosen then. Thread safety: any thread; the first one decides. cuInit,
// cuDriverGetVersion, cuDeviceGetCount.
WEIR_EXPORT void use_driver(driver_kind kind, call_site at = call_site::current());

// The driver in use; chooses it as the first use of weir does, and throws what that throws.
[[nodiscard]] WEIR_EXPORT driver_info current_driver(call_site at = call_site::current());

}  // namespace weir
