// SPDX-License-Identifier: Apache-2.0
// api/kernel/image_bounds.cpp - checks that an image is complete.
#include "api/kernel/image_bounds.hpp"

#include <elf.h>

#include <cstdint>
#include <cstring>

namespace weir::detail {
namespace {

bool is_within(std::span<const std::byte> image, std::uint64_t offset,
               std::uint64_t bytes) noexcept {
  return offset <= image.size() && bytes <= image.size() - offset;
}

// Copies the header at `offset` of the image to `header`. Returns false if the image ends before
// the end of the header.
template <class Header>
bool read_header(std::span<const std::byte> image, std::uint64_t offset, Header& header) noexcept {
  if (!is_within(image, offset, sizeof(Header))) return false;
  std::memcpy(&header, image.data() + offset, sizeof(Header));
  return true;
}

bool is_whole_elf(std::span<const std::byte> image) noexcept {
  Elf64_Ehdr file;
  if (!read_header(image, 0, file)) return false;
  for (unsigned i = 0; i < file.e_shnum; ++i) {
    Elf64_Shdr section;
    if (!read_header(image, file.e_shoff + std::uint64_t{i} * file.e_shentsize, section))
      return false;
    if (section.sh_type != SHT_NOBITS && !is_within(image, section.sh_offset, section.sh_size))
      return false;
  }
  for (unsigned i = 0; i < file.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_header(image, file.e_phoff + std::uint64_t{i} * file.e_phentsize, segment))
      return false;
    if (!is_within(image, segment.p_offset, segment.p_filesz)) return false;
  }
  return true;
}

// The header of a fatbin.
struct fatbin_header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t bytes;  // number of bytes after the header
};
constexpr std::uint32_t fatbin_magic = 0xba55ed50;

}  // namespace

bool is_truncated(std::span<const std::byte> image) noexcept {
  if (image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0)
    return !is_whole_elf(image);
  std::uint32_t magic = 0;
  if (!read_header(image, 0, magic) || magic != fatbin_magic) return false;
  fatbin_header fatbin;
  return !read_header(image, 0, fatbin) || !is_within(image, fatbin.header_bytes, fatbin.bytes);
}

}  // namespace weir::detail
