// driver/report.hpp - how the seam says that no driver can be had.
#pragma once

#include <weir/call_site.hpp>
#include <weir/errc.hpp>

#include <string>

namespace weir::detail {

// Throws weir::error. `call` is the driver's function that failed, or weir's where none was called; `situation` says
// what was found, and `advice`, a literal, what to do.
[[noreturn]] void refuse(errc code, const char* call, const std::string& situation, const char* advice, call_site at);

}  // namespace weir::detail
