// SPDX-License-Identifier: Apache-2.0
// api/testing/delay_call.cpp - driver calls that take longer on request.
#include <weir/testing/delay_call.hpp>

#include "api/core/check.hpp"
#include "api/testing/call_failure.hpp"
#include "driver/call_interceptor.hpp"

#include <fmt/format.h>

#include <thread>

namespace weir::testing {
namespace detail {

class call_delay final : weir::detail::call_observer {
 public:
  call_delay(const weir::detail::function_set& functions, std::chrono::nanoseconds delay)
      : functions_{functions}, delay_{delay} {
    weir::detail::add_observer(*this);
  }
  ~call_delay() { weir::detail::remove_observer(*this); }

 private:
  abi::CUresult before_call(std::size_t function) noexcept override {
    if (functions_[function]) std::this_thread::sleep_for(delay_);
    return abi::CUDA_SUCCESS;
  }

  const weir::detail::function_set functions_;
  const std::chrono::nanoseconds delay_;
};

}  // namespace detail

delay_call::delay_call(std::string_view call, std::chrono::nanoseconds delay, call_site at) {
  constexpr const char* user = "weir::testing::delay_call";
  if (delay < std::chrono::nanoseconds::zero()) {
    weir::detail::throw_error(errc::invalid_value, user, fmt::format("delay {} ns", delay.count()),
                              "a call cannot end before it begins; pass 0 or more", at);
  }
  delay_ = std::make_unique<detail::call_delay>(detail::functions_or_throw(call, user, at), delay);
}

delay_call::~delay_call() = default;

}  // namespace weir::testing
