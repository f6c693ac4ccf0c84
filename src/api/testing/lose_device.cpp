// SPDX-License-Identifier: Apache-2.0
// api/testing/lose_device.cpp - a device that fails on request.
#include <weir/testing/lose_device.hpp>

#include "api/core/check.hpp"
#include "driver/engine_services.hpp"
#include "driver/results.hpp"

#include <weir/core/to_string.hpp>

#include <fmt/format.h>

namespace weir::testing {

void lose_device(errc code, call_site at) {
  constexpr const char* user = "weir::testing::lose_device";
  const auto failure = static_cast<abi::CUresult>(code);
  if (!weir::detail::loses_context(failure)) {
    weir::detail::throw_error(errc::invalid_value, user,
                              fmt::format("code {}", static_cast<int>(code)),
                              "the error does not lose a context; pass illegal_address or "
                              "launch_failed",
                              at);
  }
  static_cast<void>(weir::detail::driver());  // selects a driver if none is in use yet
  const weir::detail::engine_services* const services = weir::detail::embedded_services.load();
  if (services == nullptr) {
    weir::detail::throw_error(errc::not_supported, user, "the cuda driver",
                              "a GPU fails only by itself; run the test with WEIR_DRIVER=embedded",
                              at);
  }
  services->fail_device(failure);
}

}  // namespace weir::testing
