// api/core/first_failure.hpp - the first thing that fails in work that goes on to its end whatever
// fails.
#pragma once

#include "api/core/check.hpp"
#include "driver/abi.hpp"

#include <weir/core/errc.hpp>

namespace weir::detail {

struct first_failure {
  errc code = errc::success;
  const char* call = "";

  void note(errc answer, const char* what) noexcept {
    if (code == errc::success && answer != errc::success) *this = {answer, what};
  }
  void note(abi::CUresult answer, const char* what) noexcept {
    note(static_cast<errc>(answer), what);
  }

  // Of the exception that is being handled.
  void note_exception(const char* what) noexcept;
};

// What has failed, if anything has, as the exception of the whole.
inline void check(const first_failure& failure, subject on, call_site at) {
  if (failure.code != errc::success) [[unlikely]] {
    throw_driver_error(failure.code, failure.call, on, at);
  }
}

// The same where nothing can be thrown.
inline void report_if_failed(const first_failure& failure, subject on) noexcept {
  if (failure.code != errc::success) [[unlikely]] {
    report_unhandled(failure.code, failure.call, on);
  }
}

// Makes a call that may throw where nothing can be thrown. An exception without a code is for want
// of memory in `name`.
template <class Call>
void report_failure_of(subject on, const char* name, Call&& call) noexcept {
  first_failure failure;
  try {
    call();
  } catch (...) {
    failure.note_exception(name);
  }
  report_if_failed(failure, on);
}

}  // namespace weir::detail
