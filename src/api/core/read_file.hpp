// api/core/read_file.hpp - what is in a file that a call names.
#pragma once

#include <weir/core/call_site.hpp>

#include <string>

namespace weir::detail {

// All that is in it. One that cannot be read, or is none: file_not_found, with the reason in the
// text.
[[nodiscard]] std::string read_file(const std::string& path, const char* call, call_site at);

}  // namespace weir::detail
