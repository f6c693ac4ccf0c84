// api/core/first_failure.cpp - the first thing that fails in work that goes on to its end whatever
// fails.
#include "api/core/first_failure.hpp"

#include <weir/core/error.hpp>

namespace weir::detail {

void first_failure::note_exception(const char* what) noexcept {
  try {
    throw;
  } catch (const error& e) {
    note(e.result(), e.call());
  } catch (...) {
    note(errc::out_of_memory, what);  // the only other exception in weir
  }
}

}  // namespace weir::detail
