// SPDX-License-Identifier: Apache-2.0
// api/kernel/image_bounds.hpp - checks that a module image is complete. The driver only receives an
// address and reads the size from the headers of the image.
#pragma once

#include <cstddef>
#include <span>

namespace weir::detail {

// Returns true if the image's headers are incomplete or refer to data beyond its end. Checks ELF
// files (cubins, images of embedded devices) and fatbins. Returns false for anything else, which is
// treated as text (PTX); weir adds a terminating zero to it.
[[nodiscard]] bool is_truncated(std::span<const std::byte> image) noexcept;

}  // namespace weir::detail
