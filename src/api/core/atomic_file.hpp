// SPDX-License-Identifier: Apache-2.0
// api/core/atomic_file.hpp - files that are written completely or not at all.
#pragma once

#include "api/core/check.hpp"

#include <weir/core/call_site.hpp>

#include <string>
#include <string_view>

namespace weir::detail {

// Writes the text to a temporary file in the same folder and renames it when it is complete.
// Follows symbolic links. Writes in place to anything that exists and is no regular file. Returns 0
// or errno; on failure the old file is unchanged.
[[nodiscard]] int write_file_atomically(const std::string& path, std::string_view text);

// Calls write_file_atomically(). `object` names the object in the error text. Throws
// operating_system, with the path and the reason in the text.
void write_text_file(const std::string& path, std::string_view text, const char* call,
                     subject object, call_site at);

}  // namespace weir::detail
