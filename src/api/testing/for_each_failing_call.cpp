// SPDX-License-Identifier: Apache-2.0
// api/testing/for_each_failing_call.cpp - the call that fails in a run.
#include <weir/testing/for_each_failing_call.hpp>

#include "api/testing/call_failure.hpp"

namespace weir::testing {

failing_call::failing_call(unsigned number, errc code)
    : number_{number},
      failure_{std::make_unique<detail::call_failure>(weir::detail::function_set{}.set(),
                                                      detail::nth_only{number}, code,
                                                      detail::call_scope::this_thread)} {}

failing_call::~failing_call() = default;

bool failing_call::has_failed() const noexcept { return failure_->failures() != 0; }

std::string_view failing_call::name() const noexcept { return failure_->name(); }

}  // namespace weir::testing
