// SPDX-License-Identifier: Apache-2.0
// kernel/image/writable_variables.cpp - the segments of the loaded file that its variables lie in.
#include "embedded/kernel/image/writable_variables.hpp"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

namespace weir::embedded::kernel {

namespace {

struct region {
  std::uintptr_t begin, end;
  [[nodiscard]] bool holds(std::uintptr_t at) const { return at >= begin && at < end; }
};

void make_writable(region part, int besides, std::span<const weir_variable> variables) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (const weir_variable& each : variables) {
    const auto at = reinterpret_cast<std::uintptr_t>(each.address);
    if (!part.holds(at)) continue;
    const std::uintptr_t begin = at / page * page, end = (at + each.bytes + page - 1) / page * page;
    ::mprotect(reinterpret_cast<void*>(begin), end - begin, besides | PROT_READ | PROT_WRITE);
  }
}

int look_at(dl_phdr_info* file, std::size_t, void* given) noexcept {
  const auto& module = *static_cast<const weir_module_table*>(given);
  const std::span segments{file->dlpi_phdr, file->dlpi_phnum};
  const auto of = [&](const ElfW(Phdr) & segment) {
    const std::uintptr_t begin = file->dlpi_addr + segment.p_vaddr;
    return region{begin, begin + segment.p_memsz};
  };
  bool here = false;
  for (const ElfW(Phdr) & each : segments)
    here = here ||
           (each.p_type == PT_LOAD && of(each).holds(reinterpret_cast<std::uintptr_t>(&module)));
  if (!here) return 0;
  for (const ElfW(Phdr) & each : segments) {
    // The loader has made a part of what can be written to unwritable again.
    if (!(each.p_type == PT_GNU_RELRO || (each.p_type == PT_LOAD && (each.p_flags & PF_W) == 0)))
      continue;
    const bool code = each.p_type == PT_LOAD && (each.p_flags & PF_X) != 0;
    make_writable(of(each), code ? PROT_EXEC : 0, {module.variables, module.variable_count});
  }
  return 1;
}

}  // namespace

void make_variables_writable(const weir_module_table& module) noexcept {
  ::dl_iterate_phdr(look_at, const_cast<weir_module_table*>(&module));
}

}  // namespace weir::embedded::kernel
