// SPDX-License-Identifier: Apache-2.0
// api/core/read_file.hpp - reads a file that the caller of a function names.
#pragma once

#include <weir/core/call_site.hpp>

#include <string>

namespace weir::detail {

// Returns the content of the file. Throws file_not_found, with the reason in the text, if it cannot
// be read or is a device.
[[nodiscard]] std::string read_file(const std::string& path, const char* call, call_site at);

}  // namespace weir::detail
