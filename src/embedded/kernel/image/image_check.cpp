// SPDX-License-Identifier: Apache-2.0
// kernel/image/image_check.cpp - reading ELF files that may be anything. Whatever is read lies
// within the bytes that are there.
#include "embedded/kernel/image/image_check.hpp"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>

#include "driver/abi/module_abi.h"

namespace weir::embedded::kernel {

using namespace abi;

namespace {

using bytes_view = std::span<const std::byte>;

#if defined(__x86_64__)
constexpr unsigned machine_of_host = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned machine_of_host = EM_AARCH64;
#else
#error "module images are known for x86-64 and AArch64"
#endif

constexpr std::uint64_t page_alignment = 4096;
constexpr std::uint64_t largest = std::uint64_t{1} << 32;

// `bytes` bytes from an offset, if they are all there.
std::optional<bytes_view> part(bytes_view file, std::uint64_t offset,
                               std::uint64_t bytes) noexcept {
  if (offset > file.size() || bytes > file.size() - offset) return std::nullopt;
  return file.subspan(offset, bytes);
}

template <class Record>
std::optional<Record> read(bytes_view file, std::uint64_t offset) noexcept {
  const std::optional<bytes_view> from = part(file, offset, sizeof(Record));
  if (!from) return std::nullopt;
  Record out;
  std::memcpy(&out, from->data(), sizeof out);
  return out;
}

// A table of records of one size, all of which are there.
template <class Record>
class table {
 public:
  table(bytes_view file, std::uint64_t offset, std::uint64_t count) noexcept {
    if (count > file.size() / sizeof(Record)) return;
    if (const auto found = part(file, offset, count * sizeof(Record))) bytes_ = *found;
  }
  [[nodiscard]] std::size_t size() const noexcept { return bytes_.size() / sizeof(Record); }
  [[nodiscard]] Record operator[](std::size_t index) const noexcept {
    Record out;
    std::memcpy(&out, bytes_.data() + index * sizeof(Record), sizeof out);
    return out;
  }

 private:
  bytes_view bytes_;
};

bool has_elf_magic(const Elf64_Ehdr& header) noexcept {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0;
}

// Of 64-bit words in this host's order, whoever runs it.
bool is_readable(const Elf64_Ehdr& header) noexcept {
  return header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
         header.e_ident[EI_VERSION] == EV_CURRENT && header.e_version == EV_CURRENT;
}

// Is a segment part of what is loaded, at the same place in the file and in memory?
bool lies_in_loaded(const table<Elf64_Phdr>& segments, const Elf64_Phdr& one) noexcept {
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Elf64_Phdr each = segments[i];
    if (each.p_type != PT_LOAD || one.p_vaddr < each.p_vaddr) continue;
    const std::uint64_t before = one.p_vaddr - each.p_vaddr;
    if (before > each.p_filesz || one.p_filesz > each.p_filesz - before) continue;
    return one.p_offset == each.p_offset + before;
  }
  return false;
}

// What the loader of the host will look at, so that it does not meet with a surprise.
bool is_loadable(const Elf64_Ehdr& header, bytes_view file) noexcept {
  const unsigned char system = header.e_ident[EI_OSABI];
  if (header.e_type != ET_DYN || (system != ELFOSABI_NONE && system != ELFOSABI_GNU)) return false;
  for (int at = EI_ABIVERSION; at < EI_NIDENT; ++at) {
    if (header.e_ident[at] != 0) return false;
  }
  if (header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum == 0) return false;
  const table<Elf64_Phdr> segments{file, header.e_phoff, header.e_phnum};
  if (segments.size() != header.e_phnum) return false;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Elf64_Phdr each = segments[i];
    if (each.p_type != PT_LOAD) continue;
    if (!part(file, each.p_offset, each.p_filesz) || each.p_filesz > each.p_memsz) return false;
    if (each.p_vaddr > largest || each.p_memsz > largest || each.p_vaddr < end) return false;
    if (each.p_align < page_alignment || (each.p_align & (each.p_align - 1)) != 0) return false;
    if (each.p_vaddr % each.p_align != each.p_offset % each.p_align) return false;
    end = each.p_vaddr + each.p_memsz;
  }
  bool dynamic = false;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Elf64_Phdr each = segments[i];
    if (each.p_type == PT_LOAD || each.p_type == PT_GNU_STACK || each.p_type == PT_NULL) continue;
    if (!lies_in_loaded(segments, each)) return false;
    if (each.p_type == PT_DYNAMIC) dynamic = true;
  }
  return dynamic;
}

// Where in the file the bytes at an address of the loaded image are.
std::optional<std::uint64_t> offset_of(const Elf64_Ehdr& header, bytes_view file,
                                       std::uint64_t address) noexcept {
  const table<Elf64_Phdr> segments{file, header.e_phoff, header.e_phnum};
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const Elf64_Phdr each = segments[i];
    if (each.p_type == PT_LOAD && address >= each.p_vaddr &&
        address - each.p_vaddr < each.p_filesz) {
      return each.p_offset + (address - each.p_vaddr);
    }
  }
  return std::nullopt;
}

bool is_named(bytes_view strings, std::uint64_t offset, std::string_view name) noexcept {
  const std::optional<bytes_view> found = part(strings, offset, name.size() + 1);
  return found && std::memcmp(found->data(), name.data(), name.size()) == 0 &&
         (*found)[name.size()] == std::byte{};
}

// The address of an object that the image exports.
std::optional<std::uint64_t> find_exported(const Elf64_Ehdr& header, bytes_view file,
                                           std::string_view name) noexcept {
  const table<Elf64_Shdr> sections{file, header.e_shoff, header.e_shnum};
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const Elf64_Shdr symbols = sections[i];
    if (symbols.sh_type != SHT_DYNSYM || symbols.sh_link >= sections.size()) continue;
    const Elf64_Shdr names = sections[symbols.sh_link];
    const std::optional<bytes_view> strings = part(file, names.sh_offset, names.sh_size);
    const table<Elf64_Sym> all{file, symbols.sh_offset, symbols.sh_size / sizeof(Elf64_Sym)};
    if (!strings) continue;
    for (std::size_t s = 0; s < all.size(); ++s) {
      const Elf64_Sym each = all[s];
      if (each.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(each.st_info) == STT_OBJECT &&
          each.st_size >= sizeof(weir_module_table) && is_named(*strings, each.st_name, name)) {
        return each.st_value;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

bool find_section_table(std::span<const std::byte> header, elf_table& out) noexcept {
  const std::optional<Elf64_Ehdr> read_header = read<Elf64_Ehdr>(header, 0);
  if (!read_header || !has_elf_magic(*read_header) || !is_readable(*read_header)) return false;
  if (read_header->e_shentsize != sizeof(Elf64_Shdr) || read_header->e_shnum == 0) return false;
  if (read_header->e_shoff < sizeof(Elf64_Ehdr) || read_header->e_shoff > largest) return false;
  out = {read_header->e_shoff, std::uint64_t{read_header->e_shnum} * sizeof(Elf64_Shdr)};
  return true;
}

bool measure(std::span<const std::byte> header, std::span<const std::byte> sections,
             std::uint64_t& bytes) noexcept {
  elf_table at;
  if (!find_section_table(header, at) || sections.size() != at.bytes) return false;
  const table<Elf64_Shdr> all{sections, 0, sections.size() / sizeof(Elf64_Shdr)};
  // The first section of every file is none: what is not, is no section table.
  const Elf64_Shdr first = all[0];
  if (first.sh_type != SHT_NULL || first.sh_offset != 0 || first.sh_size != 0) return false;
  bytes = at.at + at.bytes;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Elf64_Shdr each = all[i];
    if (each.sh_type == SHT_NOBITS || each.sh_type == SHT_NULL) continue;
    if (each.sh_offset > largest || each.sh_size > largest) return false;
    if (each.sh_offset + each.sh_size > bytes) bytes = each.sh_offset + each.sh_size;
  }
  return true;
}

CUresult check_image(std::span<const std::byte> file, std::string& diagnostic) {
  const std::optional<Elf64_Ehdr> header = read<Elf64_Ehdr>(file, 0);
  if (!header || !has_elf_magic(*header)) {
    diagnostic = "this is no ELF file";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  if (!is_readable(*header)) {
    diagnostic = "this ELF file is not of 64 bits and little-endian";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  if (header->e_machine == EM_CUDA) {
    diagnostic =
        "this is code for a GPU, which the embedded device cannot run; it runs what was compiled "
        "for the host";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (header->e_machine != machine_of_host) {
    diagnostic = "this is code for another processor (ELF machine " +
                 std::to_string(header->e_machine) + ")";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (!is_loadable(*header, file)) {
    diagnostic = "this is no shared object that the host could load";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  const std::optional<std::uint64_t> exported = find_exported(*header, file, "weir_module");
  const std::optional<std::uint64_t> at =
      exported ? offset_of(*header, file, *exported) : std::nullopt;
  const std::optional<unsigned> version = at ? read<unsigned>(file, *at) : std::nullopt;
  if (!version) {
    diagnostic = "this shared object is no module image: it does not export weir_module";
    return CUDA_ERROR_INVALID_IMAGE;
  }
  if (*version != weir_module_version) {
    diagnostic = "this module image is of version " + std::to_string(*version) +
                 ", and the driver's is " + std::to_string(weir_module_version) +
                 ": compile it anew";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  return CUDA_SUCCESS;
}

}  // namespace weir::embedded::kernel
