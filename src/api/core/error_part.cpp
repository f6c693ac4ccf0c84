// api/core/throw_for_part.cpp - errors that name, beside what a call was made on, which part of it
// is at fault.
#include "api/core/error_part.hpp"

#include <weir/core/error.hpp>

#include <fmt/format.h>

namespace weir::detail {

void throw_for_part(CUresult answer, const char* call, subject on, const error_part& failed_part,
                    call_site at) {
  try {
    check(answer, call, on, at);
  } catch (const error& e) {
    throw error{e.result(), e.call(), fmt::format("{}, {}", e.object(), failed_part.name),
                failed_part.hint.empty() ? e.hint() : failed_part.hint, at};
  }
  __builtin_unreachable();  // an answer that is no success
}

}  // namespace weir::detail
