// SPDX-License-Identifier: Apache-2.0
// tools/weir/xml_text.hpp - converts arbitrary bytes to the text of an XML file.
#pragma once

#include <string>
#include <string_view>

namespace weir::tool {

// For text and attribute values. Escapes special characters; replaces invalid UTF-8 and characters
// that XML does not allow with U+FFFD.
[[nodiscard]] std::string xml_text(std::string_view bytes);

}  // namespace weir::tool
