// SPDX-License-Identifier: Apache-2.0
// api/core/first_failure.cpp - the first failure of a sequence of calls. A failed call does not end
// the sequence.
#include "api/core/first_failure.hpp"

#include <weir/core/error.hpp>

namespace weir::detail {

void first_failure::note_exception(const char* call_name) noexcept {
  try {
    throw;
  } catch (const error& e) {
    note(e.result(), e.call());
  } catch (...) {
    // std::bad_alloc, or std::system_error of a thread that cannot be created
    note(errc::out_of_memory, call_name);
  }
}

errc current_error_code() noexcept {
  first_failure failure;
  failure.note_exception("");
  return failure.code;
}

}  // namespace weir::detail
