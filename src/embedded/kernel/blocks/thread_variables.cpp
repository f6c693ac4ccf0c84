// SPDX-License-Identifier: Apache-2.0
// kernel/blocks/thread_variables.cpp - asking the loader.
#include "embedded/kernel/blocks/thread_variables.hpp"

#include <link.h>

#include <cstdint>
#include <span>

namespace weir::embedded::kernel {

namespace {

struct search {
  std::uintptr_t code;
  thread_variables found;
};

int visit_library(dl_phdr_info* file, std::size_t, void* wanted) noexcept {
  auto& s = *static_cast<search*>(wanted);
  const std::span segments{file->dlpi_phdr, file->dlpi_phnum};
  bool here = false;
  for (const ElfW(Phdr) & each : segments) {
    if (each.p_type == PT_LOAD && s.code - (file->dlpi_addr + each.p_vaddr) < each.p_memsz)
      here = true;
  }
  if (!here) return 0;
  for (const ElfW(Phdr) & each : segments) {
    if (each.p_type == PT_TLS)
      s.found = {static_cast<std::byte*>(file->dlpi_tls_data), each.p_memsz};
  }
  return 1;
}

}  // namespace

thread_variables variables_of_module(const void* code) noexcept {
  search s{reinterpret_cast<std::uintptr_t>(code), {}};
  ::dl_iterate_phdr(visit_library, &s);
  return s.found;
}

}  // namespace weir::embedded::kernel
