// api/core/verify.cpp - verify mode, asked for in code.
#include <weir/core/driver.hpp>
#include <weir/core/verify.hpp>

#include "driver/verify.hpp"

namespace weir {

bool verify_operations(bool on, call_site at) {
  static_cast<void>(current_driver(at));  // which may turn it on, as the environment says
  const bool before = detail::verifying();
  detail::set_verification(on);
  return before;
}

bool verifying_operations() noexcept { return detail::verifying(); }

void detail::set_verify_timeout_nanoseconds(long long nanoseconds) noexcept {
  verification_timeout.store(nanoseconds, std::memory_order_relaxed);
}

}  // namespace weir
