// SPDX-License-Identifier: Apache-2.0
// weir/core/driver.hpp - the driver that the program runs on: the GPU vendor's, or the embedded one
// that needs no GPU.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// The kinds of driver.
enum class driver_kind {
  cuda,      ///< the vendor's libcuda.so.1, opened at run time
  embedded,  ///< weir's embedded driver, whose devices are parts of the host; or weir's drop-in
};

/// Returns "cuda" or "embedded", the values of WEIR_DRIVER.
[[nodiscard]] WEIR_EXPORT std::string_view to_string(driver_kind kind) noexcept;

/// The driver in use, and how it was chosen.
struct driver_info {
  driver_kind kind = driver_kind::embedded;
  std::string reason;  ///< the reason for the choice, a sentence without its full stop
  int version = 0;     ///< version of the driver API: 1000 * major + 10 * minor, 13000 is CUDA 13.0
  /// file that the driver was loaded from; empty for the embedded driver inside weir
  std::string library;
  /// true if `library` is weir's drop-in: the embedded driver as a libcuda.so.1
  bool is_dropin = false;

  /// The reason why the vendor's driver cannot be used on this machine. Empty if it is used or was
  /// not tried.
  std::string vendor_problem;

  /// Functions that weir supports and this older driver lacks. Calls that need one of these
  /// functions fail with errc::call_requires_newer_driver; all other calls work.
  std::vector<std::string_view> missing_functions;
};

/// Chooses and initialises the driver of the process. Call it first in main: once a driver is in
/// use, another one cannot be chosen. Does nothing if the driver of this kind is already in use.
///
/// Without this call, the first use of weir chooses the driver. The environment variable
/// WEIR_DRIVER (auto, cuda or embedded) selects it. If the variable is not set, or is auto, weir
/// uses the vendor's driver if that has a device, and the embedded driver otherwise. If the
/// libcuda.so.1 of the process is weir's drop-in, it is used as the embedded driver, so that weir
/// shares its devices with other libraries that call the driver. With `embedded`, this holds only
/// if the drop-in is loaded already.
///
/// Throws: error, without choosing a driver:
/// - `illegal_state` if the other driver is already in use
/// - `invalid_value` if an environment variable of the embedded driver has an unknown value
/// - `file_not_found` (no library), `shared_object_symbol_not_found` (not a CUDA driver),
///   `system_driver_mismatch` (too old), `no_device`, or the vendor's own code, if the vendor's
///   driver cannot be used. The text lists what was tried.
/// Thread safety: may be called from any thread; the first call decides.
/// Driver: cuInit, cuDriverGetVersion, cuDeviceGetCount.
WEIR_EXPORT void use_driver(driver_kind kind, call_site at = call_site::current());

/// Returns the driver in use. Chooses it first if necessary, as the first use of weir does.
///
/// Throws: as use_driver().
[[nodiscard]] WEIR_EXPORT driver_info current_driver(call_site at = call_site::current());

}  // namespace weir
