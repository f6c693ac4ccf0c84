// SPDX-License-Identifier: Apache-2.0
// api/kernel/image_bounds.hpp - checks that an image is complete. The driver only gets an address
// and determines the size itself.
#pragma once

#include <cstddef>
#include <span>

namespace weir::detail {

// Returns true if the image's headers refer to data beyond its end. Checks ELF files (cubins,
// images of embedded devices) and fatbins. Anything else is text, to which weir adds a terminating
// zero.
[[nodiscard]] bool is_truncated(std::span<const std::byte> image) noexcept;

}  // namespace weir::detail
