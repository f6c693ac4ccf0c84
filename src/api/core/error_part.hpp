// api/core/throw_for_part.hpp - errors that name, beside what a call was made on, which part of it
// is at fault.
#pragma once

#include "api/core/check.hpp"

#include <weir/core/call_site.hpp>

#include <string>

namespace weir::detail {

// "word at 0x7f10", "sync_domain_map"; and what to do, or nothing where the usual advice is all
// that can be said.
struct error_part {
  std::string name;
  std::string hint = {};
};

// Throws what check() throws for this answer, of both.
[[noreturn, gnu::cold]] void throw_for_part(CUresult answer, const char* call, subject on,
                                            const error_part& failed_part, call_site at);

// check() for them: name_part() gives the part, and is called only where it is needed.
template <class Name>
void check_part(CUresult answer, const char* call, subject on, call_site at,
                const Name& name_part) {
  if (answer != CUDA_SUCCESS) [[unlikely]] {
    throw_for_part(answer, call, on, name_part(), at);
  }
}

}  // namespace weir::detail
