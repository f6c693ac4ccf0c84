// checksum.hpp - the checksum that files and chunks are compared by.
#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weir::tool {

// The CRC-32 of what `before` is the CRC-32 of, followed by these bytes; of nothing it is 0.
[[nodiscard]] inline std::uint32_t crc32_of(std::uint32_t before,
                                            std::span<const std::byte> bytes) noexcept {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

// The CRC-32 of two parts, from those of each, and the size of the second.
[[nodiscard]] inline std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second,
                                                std::size_t second_bytes) noexcept {
  return static_cast<std::uint32_t>(
      ::crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

}  // namespace weir::tool
