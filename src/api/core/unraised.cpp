// api/core/unraised.cpp - the hook for failures that cannot be thrown.
#include "api/core/unraised.hpp"

#include "os/forked_child.hpp"

#include <weir/core/error.hpp>

#include <atomic>
#include <cstdio>
#include <utility>

namespace weir {
namespace {

void print(std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(std::move(failure));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "weir: not raised: %s\n", e.what());
  } catch (...) {
    std::fputs("weir: not raised: an exception that is no std::exception\n", stderr);
  }
}

constinit std::atomic<unraised_error_hook> hook_in_use{&print};

}  // namespace

unraised_error_hook on_unraised_error(unraised_error_hook hook) noexcept {
  return hook_in_use.exchange(hook != nullptr ? hook : &print, std::memory_order_acq_rel);
}

void detail::raise_to_hook(std::exception_ptr failure) noexcept {
  if (in_forked_child()) return;
  hook_in_use.load(std::memory_order_acquire)(std::move(failure));
}

}  // namespace weir
