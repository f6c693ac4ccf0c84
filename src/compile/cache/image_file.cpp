// SPDX-License-Identifier: Apache-2.0
// compile/cache/image_file.cpp - sections and symbols.
#include "compile/cache/image_file.hpp"

#include <elf.h>
#include <link.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>

#include "driver/abi/module_abi.h"

namespace weir::compile {
namespace {

class elf {
 public:
  explicit elf(std::span<const std::byte> file) : file_{file} {
    if (file.size() < sizeof(ElfW(Ehdr))) return;
    const auto header = at<ElfW(Ehdr)>(0);
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return;
    for (unsigned i = 0; i < header.e_shnum; ++i)
      sections_.push_back(at<ElfW(Shdr)>(header.e_shoff + i * sizeof(ElfW(Shdr))));
    if (header.e_shstrndx < sections_.size()) names_ = sections_[header.e_shstrndx].sh_offset;
  }

  [[nodiscard]] std::string_view section(std::string_view name) const {
    for (const ElfW(Shdr) & s : sections_)
      if (text(names_ + s.sh_name) == name && s.sh_type != SHT_NOBITS)
        return {reinterpret_cast<const char*>(file_.data() + s.sh_offset), s.sh_size};
    return {};
  }

  template <class F>
  void each_symbol(F f) const {
    for (const ElfW(Shdr) & s : sections_) {
      if (s.sh_type != SHT_SYMTAB || s.sh_link >= sections_.size()) continue;
      for (std::size_t i = 0; i < s.sh_size / sizeof(ElfW(Sym)); ++i) {
        const auto symbol = at<ElfW(Sym)>(s.sh_offset + i * sizeof(ElfW(Sym)));
        f(symbol, text(sections_[s.sh_link].sh_offset + symbol.st_name));
      }
    }
  }

  // Where in the file an address of the loaded image lies; 0 where nowhere.
  [[nodiscard]] std::size_t offset_of(ElfW(Addr) address) const {
    for (const ElfW(Shdr) & s : sections_)
      if ((s.sh_flags & SHF_ALLOC) != 0 && s.sh_type != SHT_NOBITS && address >= s.sh_addr &&
          address < s.sh_addr + s.sh_size)
        return s.sh_offset + (address - s.sh_addr);
    return 0;
  }

 private:
  template <class T>
  [[nodiscard]] T at(std::size_t offset) const {
    T value{};
    if (offset + sizeof value <= file_.size())
      std::memcpy(&value, file_.data() + offset, sizeof value);
    return value;
  }
  [[nodiscard]] std::string_view text(std::size_t offset) const {
    if (offset >= file_.size()) return {};
    const char* const begin = reinterpret_cast<const char*>(file_.data() + offset);
    return {begin, strnlen(begin, file_.size() - offset)};
  }

  std::span<const std::byte> file_;
  std::vector<ElfW(Shdr)> sections_;
  std::size_t names_ = 0;
};

}  // namespace

std::map<unsigned, std::string> names_of(const std::vector<std::byte>& image) {
  std::map<unsigned, std::string> names;
  std::string_view rest = elf{image}.section("weir_names");
  const auto next = [&rest] {
    const std::string_view word = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    return word;
  };
  while (!rest.empty()) {
    const std::string_view number = next();
    unsigned n = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), n).ec == std::errc{})
      names[n] = next();
  }
  return names;
}

void write_shared_sizes(std::vector<std::byte>& image, const std::vector<std::string>& kernels) {
  const elf file{image};
  std::size_t table = 0;
  // A variable of a function is mangled as _ZZ, the function, E, the variable.
  std::vector<std::string> prefixes;
  prefixes.reserve(kernels.size());
  for (const std::string& k : kernels)
    prefixes.push_back(k.starts_with("_Z") ? "_ZZ" + k.substr(2) + "E"
                                           : "_ZZ" + std::to_string(k.size()) + k + "E");
  std::vector<unsigned> bytes(kernels.size(), 0);
  file.each_symbol([&](const ElfW(Sym) & symbol, std::string_view name) {
    if (name == "weir_kernels") table = file.offset_of(symbol.st_value);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_TLS) return;
    for (std::size_t i = 0; i < prefixes.size(); ++i)
      if (name.starts_with(prefixes[i])) bytes[i] += static_cast<unsigned>(symbol.st_size);
  });
  if (table == 0 || table + kernels.size() * sizeof(weir_kernel) > image.size()) return;
  for (std::size_t i = 0; i < kernels.size(); ++i)
    std::memcpy(
        image.data() + table + i * sizeof(weir_kernel) + offsetof(weir_kernel, static_shared),
        &bytes[i], sizeof bytes[i]);
}

}  // namespace weir::compile
