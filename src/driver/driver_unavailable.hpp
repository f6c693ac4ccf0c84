// driver/driver_unavailable.hpp - how the seam says that no driver can be had.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>

#include <string>

namespace weir::detail {

// Throws weir::error. `call` is the driver's function that failed, or weir's where none was called;
// `object` is what it was asked of, and `hint` says what was found and what to do.
[[noreturn]] void throw_driver_unavailable(errc code, const char* call, const std::string& object,
                                           std::string hint, call_site at);

}  // namespace weir::detail
