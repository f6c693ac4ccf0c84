// SPDX-License-Identifier: Apache-2.0
// tools/weir/xml_text.hpp - converts arbitrary bytes to the text of an XML file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::tool {

// The length of the character at the beginning in bytes; 0 if it is no valid UTF-8 or not allowed
// in XML.
[[nodiscard]] std::size_t character_length(std::string_view bytes);

// For text and attribute values. Escapes special characters; replaces invalid UTF-8 and characters
// that XML does not allow with U+FFFD.
[[nodiscard]] std::string xml_text(std::string_view bytes);

}  // namespace weir::tool
