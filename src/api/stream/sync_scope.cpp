// SPDX-License-Identifier: Apache-2.0
// api/stream/sync_scope.cpp - the wait at the end of a scope whose body has thrown.
#include <weir/core/error.hpp>
#include <weir/stream/sync_scope.hpp>

#include "api/core/unhandled_error.hpp"

#include <exception>

namespace weir::detail {

void sync_after_failure(stream_ref stream, call_site at) noexcept {
  const std::exception_ptr first = std::current_exception();
  try {
    stream.sync(at);
  } catch (const error& second) {
    try {
      // Gives access to the exception object, which leaves the scope afterwards.
      std::rethrow_exception(first);
    } catch (error& body) {
      body.attach(second);
    } catch (...) {
      call_unhandled_error_handler(std::make_exception_ptr(second));
    }
  } catch (...) {
    call_unhandled_error_handler(std::current_exception());
  }
}

}  // namespace weir::detail
