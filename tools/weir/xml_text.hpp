// xml_text.hpp - any bytes as text of an XML file.
#pragma once

#include <string>
#include <string_view>

namespace weir::tool {

// For text and attributes: what has a meaning in XML is escaped, and what is no UTF-8 or not
// allowed there becomes U+FFFD.
[[nodiscard]] std::string xml_text(std::string_view bytes);

}  // namespace weir::tool
