// SPDX-License-Identifier: Apache-2.0
// driver/driver_unavailable.hpp - throws the error that no driver is available.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>

#include <string>

namespace weir::detail {

// Throws weir::error. `call`: the driver function that failed, or weir's if none was called.
// `object`: the object of that call. `hint`: what was found and what to do.
[[noreturn]] void throw_driver_unavailable(errc code, const char* call, const std::string& object,
                                           std::string hint, call_site at);

}  // namespace weir::detail
