// SPDX-License-Identifier: Apache-2.0
// api/core/first_failure.hpp - the first failure of a sequence of calls. A failed call does not end
// the sequence.
#pragma once

#include "api/core/check.hpp"
#include "driver/abi.hpp"

#include <weir/core/errc.hpp>

namespace weir::detail {

// The first noted failure: the error code and the call that returned it.
struct first_failure {
  errc code = errc::success;
  const char* call = "";

  void note(errc answer, const char* call_name) noexcept {
    if (code == errc::success && answer != errc::success) *this = {answer, call_name};
  }
  void note(abi::CUresult answer, const char* call_name) noexcept {
    note(static_cast<errc>(answer), call_name);
  }

  // Notes the exception that is being handled. An exception other than weir::error counts as out of
  // memory in `call_name`.
  void note_exception(const char* call_name) noexcept;
};

// Returns the code of the weir::error that is being handled. Any other exception counts as
// out_of_memory.
[[nodiscard]] errc current_error_code() noexcept;

// Throws the noted failure, if there is one.
inline void check(const first_failure& failure, subject object, call_site at) {
  if (failure.code != errc::success) [[unlikely]] {
    throw_driver_error(failure.code, failure.call, object, at);
  }
}

// Passes the noted failure, if there is one, to report_unhandled(). For functions that cannot
// throw.
inline void report_if_failed(const first_failure& failure, subject object) noexcept {
  if (failure.code != errc::success) [[unlikely]] {
    report_unhandled(failure.code, failure.call, object);
  }
}

// Calls call(), which may throw, and passes its failure to report_unhandled(). An exception other
// than weir::error is reported as out_of_memory in `name`.
template <class Call>
void report_failure_of(subject object, const char* name, Call&& call) noexcept {
  first_failure failure;
  try {
    call();
  } catch (...) {
    failure.note_exception(name);
  }
  report_if_failed(failure, object);
}

}  // namespace weir::detail
