// SPDX-License-Identifier: Apache-2.0
// api/core/unhandled_error.cpp - the handler of failures that cannot be thrown.
#include "api/core/unhandled_error.hpp"

#include "os/forked_child.hpp"

#include <weir/core/error.hpp>

#include <atomic>
#include <cstdio>
#include <utility>

namespace weir {
namespace {

void print_to_stderr(std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weir: unhandled error: %s\n", e.what());
  } catch (...) {
    std::fputs("weir: unhandled error: an exception that is not a std::exception\n", stderr);
  }
}

constinit std::atomic<unhandled_error_handler> current_handler{&print_to_stderr};

}  // namespace

unhandled_error_handler set_unhandled_error_handler(unhandled_error_handler handler) noexcept {
  return current_handler.exchange(handler != nullptr ? handler : &print_to_stderr,
                                  std::memory_order_acq_rel);
}

void detail::call_unhandled_error_handler(std::exception_ptr failure) noexcept {
  if (os::in_forked_child()) return;
  current_handler.load(std::memory_order_acquire)(std::move(failure));
}

}  // namespace weir
