// api/kernel/image_bounds.hpp - is an image whole? A driver takes an address, and looks for the end
// itself.
#pragma once

#include <cstddef>
#include <span>

namespace weir::detail {

// Does the image say that it goes on behind its end? Of ELF files (cubins, images of embedded
// devices) and fatbins; what is neither is text, and ends with a zero that weir adds.
[[nodiscard]] bool is_truncated(std::span<const std::byte> image) noexcept;

}  // namespace weir::detail
