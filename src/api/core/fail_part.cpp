// api/core/fail_part.cpp - errors that name, beside what a call was made on, which part of it is at fault.
#include "api/core/fail_part.hpp"

#include <weir/core/error.hpp>

#include <fmt/format.h>

namespace weir::detail {

void fail_part(CUresult answer, const char* call, subject on, const part& at_fault, call_site at) {
  try {
    check(answer, call, on, at);
  } catch (const error& e) {
    throw error{e.result(), e.call(), fmt::format("{}, {}", e.object(), at_fault.name),
                at_fault.advice.empty() ? e.advice() : at_fault.advice, at};
  }
  __builtin_unreachable();  // an answer that is no success
}

}  // namespace weir::detail
