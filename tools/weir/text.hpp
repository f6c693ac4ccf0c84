// text.hpp - quantities as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace weir::tool {

// "512 bytes", "2 MiB", "31.4 MiB".
[[nodiscard]] std::string bytes_text(std::uint64_t bytes);

}  // namespace weir::tool
