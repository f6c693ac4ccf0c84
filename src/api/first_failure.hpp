// api/first_failure.hpp - the first thing that fails in work that goes on to its end whatever fails.
#pragma once

#include "driver/abi.hpp"

#include <weir/errc.hpp>

namespace weir::detail {

struct first_failure {
  errc code = errc::success;
  const char* call = "";

  void note(errc answer, const char* what) noexcept {
    if (code == errc::success && answer != errc::success) *this = {answer, what};
  }
  void note(abi::CUresult answer, const char* what) noexcept { note(static_cast<errc>(answer), what); }

  // Of the exception that is being handled.
  void note_exception(const char* what) noexcept;
};

}  // namespace weir::detail
