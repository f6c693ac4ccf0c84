// SPDX-License-Identifier: Apache-2.0
// tools/weir/checksum.hpp - CRC-32 of files and chunks.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::tool {

// Continues a CRC-32: `before` is the CRC-32 of the preceding bytes, 0 if there are none.
[[nodiscard]] inline std::uint32_t crc32_of(std::uint32_t before,
                                            std::span<const std::byte> bytes) noexcept {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// Returns the CRC-32 of two consecutive parts of a file, from the CRC-32 of each part and the size
// of the second part.
[[nodiscard]] inline std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second,
                                                std::size_t second_bytes) noexcept {
  return static_cast<std::uint32_t>(
      ::crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

}  // namespace weir::tool
