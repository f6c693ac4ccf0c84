// SPDX-License-Identifier: Apache-2.0
// tools/weir/xml_text.hpp - converts arbitrary bytes to the text of an XML file.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::tool {

// Returns the length in bytes of the character at the beginning of the text; 0 if it is not valid
// UTF-8, not allowed in XML, or one of the last two code points of a plane, which XML discourages.
[[nodiscard]] std::size_t character_length(std::string_view bytes);

// Returns the text of an XML element or attribute. Escapes special characters. Replaces invalid
// UTF-8, and characters that XML does not allow, with U+FFFD.
[[nodiscard]] std::string xml_text(std::string_view bytes);

}  // namespace weir::tool
