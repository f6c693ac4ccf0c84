// SPDX-License-Identifier: Apache-2.0
// api/stream/direct_driver.hpp - conditions for driver calls made as tail calls.
#pragma once

#include "api/core/call_restrictions.hpp"
#include "driver/table.hpp"

#include <weir/detail/closed.hpp>

#include <atomic>

// A direct call is a function that checks a few conditions and ends in a tail call of the driver's
// function, whose result it returns. Therefore nothing follows the driver call, and the function is
// not noexcept. If a condition fails, it returns not_called (weir/detail/direct_call.hpp) and the
// caller takes the slower path.
namespace weir::detail {

// Returns the driver table for a call that needs no check for captures. Returns null in a host
// function and before the driver is loaded.
[[nodiscard, gnu::always_inline]] inline const driver_table* direct_driver() noexcept {
  if (inside_host_function) return nullptr;
  record_driver_call();
  return table_in_use.load(std::memory_order_acquire);
}

// Like direct_driver(), for a call that needs a check if a capture is open. Also returns null while
// a capture that was begun through weir is open.
[[nodiscard, gnu::always_inline]] inline const driver_table*
direct_driver_outside_captures() noexcept {
  return active_capture_count.load(std::memory_order_relaxed) != 0 ? nullptr : direct_driver();
}

// Like direct_driver(), for a query. Also returns null while queries need relaxed capture mode.
[[nodiscard, gnu::always_inline]] inline const driver_table* direct_driver_for_query() noexcept {
  return relaxed_mode_reasons.load(std::memory_order_relaxed) != 0 ? nullptr : direct_driver();
}

template <class Handle>
[[nodiscard]] constexpr bool is_open(Handle* handle) noexcept {
  return handle != closed_handle<Handle>();
}

}  // namespace weir::detail
