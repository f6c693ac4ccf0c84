// SPDX-License-Identifier: Apache-2.0
// api/testing/fail_call.cpp - driver calls that fail on request.
#include <weir/testing/fail_call.hpp>

#include "api/core/check.hpp"
#include "api/testing/call_failure.hpp"

#include <fmt/format.h>

namespace weir::testing {
namespace {

constexpr const char* user = "weir::testing::fail_call";

[[noreturn]] void throw_invalid(std::string object, const char* hint, call_site at) {
  weir::detail::throw_error(errc::invalid_value, user, std::move(object), hint, at);
}

std::unique_ptr<detail::call_failure> make_failure(std::string_view call,
                                                   detail::call_selection selection, errc code,
                                                   call_site at) {
  if (code == errc::success)
    throw_invalid("code success", "a failing call needs an error; pass one such as out_of_memory",
                  at);
  return std::make_unique<detail::call_failure>(detail::functions_or_throw(call, user, at),
                                                selection, code, detail::call_scope::all_threads);
}

}  // namespace

fail_call::fail_call(std::string_view call, unsigned n, errc code, call_site at) {
  if (n == 0) throw_invalid("call number 0", "calls are counted from 1; pass 1 for the next", at);
  failure_ = make_failure(call, detail::nth_only{n}, code, at);
}

fail_call::fail_call(std::string_view call, every_nth selection, errc code, call_site at) {
  if (selection.n == 0) throw_invalid("every_nth{0}", "pass 1 for every call", at);
  failure_ = make_failure(call, selection, code, at);
}

fail_call::fail_call(std::string_view call, at_random selection, errc code, call_site at) {
  if (!(selection.share >= 0 && selection.share <= 1))
    throw_invalid(fmt::format("share {}", selection.share),
                  "the share of failing calls is a probability; pass a number from 0 to 1", at);
  failure_ = make_failure(call, selection, code, at);
}

fail_call::~fail_call() = default;

unsigned fail_call::failures() const noexcept { return failure_->failures(); }

}  // namespace weir::testing
