// SPDX-License-Identifier: Apache-2.0
// kernel/image/image_check.hpp - what the bytes of a module are, told without running anything of
// theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "driver/abi.hpp"

namespace weir::embedded::kernel {

// The first bytes of what a program gives as a module. Of a pointer, whose length nobody tells, no
// byte is read that is not needed to tell.
enum class image_form : std::uint8_t {
  elf,
  fat_binary,  // of nvcc, for GPUs
  ptx,         // text that begins as PTX does
  junk,
};
[[nodiscard]] image_form form_of(const void* image) noexcept;

// How many bytes a file in the ELF has, by its header, and by its header and section table, which
// begins at `sections`. False for what cannot be one. The header has to have been read:
// elf_header_bytes of it.
inline constexpr std::size_t elf_header_bytes = 64;
struct elf_table {
  std::uint64_t at = 0, bytes = 0;
};
[[nodiscard]] bool find_section_table(std::span<const std::byte> header, elf_table& out) noexcept;
[[nodiscard]] bool measure(std::span<const std::byte> header, std::span<const std::byte> sections,
                           std::uint64_t& bytes) noexcept;

// Is a file a module image that this driver and this host can run? CUDA_SUCCESS;
// CUDA_ERROR_NO_BINARY_FOR_GPU for one that is for another machine or another driver;
// CUDA_ERROR_INVALID_IMAGE for all else. Then `diagnostic` says why.
[[nodiscard]] abi::CUresult check_image(std::span<const std::byte> file, std::string& diagnostic);

}  // namespace weir::embedded::kernel
