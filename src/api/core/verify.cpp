// SPDX-License-Identifier: Apache-2.0
// api/core/verify.cpp - turns verify mode on and off from code.
#include <weir/core/driver.hpp>
#include <weir/core/verify.hpp>

#include "driver/verify.hpp"

namespace weir {

bool verify_operations(bool enabled, call_site at) {
  // Loads the driver first, because loading it reads the environment variable that turns verify
  // mode on.
  static_cast<void>(current_driver(at));
  const bool previous = detail::verifying();
  detail::set_verification(enabled);
  return previous;
}

bool verifying_operations() noexcept { return detail::verifying(); }

void detail::set_verify_timeout_nanoseconds(long long nanoseconds) noexcept {
  verification_timeout.store(nanoseconds, std::memory_order_relaxed);
}

}  // namespace weir
