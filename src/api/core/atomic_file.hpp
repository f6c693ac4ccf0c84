// SPDX-License-Identifier: Apache-2.0
// api/core/atomic_file.hpp - files that are written completely or not at all.
#pragma once

#include "api/core/check.hpp"

#include <weir/core/call_site.hpp>

#include <string>
#include <string_view>

namespace weir::detail {

// Writes the text to a temporary file in the same folder and renames it when it is complete.
// Follows symbolic links. Writes directly to a path that exists and is not a regular file, such as
// a pipe, and to one that names an open descriptor, such as /dev/stdout.
//
// If that fails, throws errc::operating_system with the path and the reason. An old regular file is
// then unchanged. `call` and `object` appear in the text of the error.
void write_text_file(const std::string& path, std::string_view text, const char* call,
                     subject object, call_site at);

}  // namespace weir::detail
