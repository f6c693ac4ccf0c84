// SPDX-License-Identifier: Apache-2.0
// weir/testing/delay_call.hpp - driver calls that take longer on request.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>

#include <chrono>
#include <memory>
#include <string_view>

namespace weir::testing {

namespace detail {
class call_delay;
}

/// While an object of this class exists, each call of a driver function sleeps for `delay` before
/// it reaches the driver. Shows whether a program survives another order of its threads.
///
///   const weir::testing::delay_call slow{"cuEventRecord", std::chrono::milliseconds{5}};
///
/// `call` is a function of the CUDA driver API, with or without its version suffix, or "*" for
/// every call. The destructor waits for delayed calls.
///
/// Throws: `invalid_value` if no function has this name, or if the delay is negative.
/// Thread safety: may be created and destroyed on any thread.
class WEIR_EXPORT delay_call {
 public:
  delay_call(std::string_view call, std::chrono::nanoseconds delay,
             call_site at = call_site::current());
  delay_call(const delay_call&) = delete;
  delay_call& operator=(const delay_call&) = delete;
  ~delay_call();

 private:
  std::unique_ptr<detail::call_delay> delay_;
};

}  // namespace weir::testing
