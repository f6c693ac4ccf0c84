// api/core/atomic_file.hpp - files that are there whole or not at all.
#pragma once

#include "api/core/check.hpp"

#include <weir/core/call_site.hpp>

#include <string>
#include <string_view>

namespace weir::detail {

// Written under another name in the same folder, and renamed when it is whole; links to what exists
// are followed. What exists and is no regular file is written to as it is. Gives 0, or the system's
// error number: what was there before is there then.
[[nodiscard]] int write_file_atomically(const std::string& path, std::string_view text);

// The same for what `on` is told as. Throws operating_system, with the path and the reason in the
// text.
void write_text_file(const std::string& path, std::string_view text, const char* call, subject on,
                     call_site at);

}  // namespace weir::detail
