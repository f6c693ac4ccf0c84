// api/stream/direct_driver.hpp - may the driver be called at once, without a frame to come back to?
#pragma once

#include "api/core/call_restrictions.hpp"
#include "driver/table.hpp"

#include <weir/detail/closed.hpp>

#include <atomic>

// A direct call looks whether anything is in the way and ends in the driver's function, whose
// answer is its own: the compiler makes a jump of that. So nothing comes after the driver's call,
// and no direct call is noexcept. Where anything is in the way it answers not_called
// (weir/detail/direct_call.hpp).
namespace weir::detail {

// The driver for a call that means the same inside and outside of captures; null if it is not to be
// called at once.
[[nodiscard, gnu::always_inline]] inline const driver_table* direct_driver() noexcept {
  if (inside_host_function) return nullptr;
  record_driver_call();
  return table_in_use.load(std::memory_order_acquire);
}

// The same for calls that captures have to do with.
[[nodiscard, gnu::always_inline]] inline const driver_table*
direct_driver_outside_captures() noexcept {
  return active_capture_count.load(std::memory_order_relaxed) != 0 ? nullptr : direct_driver();
}

template <class Handle>
[[nodiscard]] constexpr bool is_open(Handle* handle) noexcept {
  return handle != closed_handle<Handle>();
}

}  // namespace weir::detail
