// api/stream/directly.hpp - may the driver be called at once, without a frame to come back to?
#pragma once

#include "api/core/guard.hpp"
#include "driver/table.hpp"

#include <weir/detail/closed.hpp>

#include <atomic>

// A direct call looks whether anything is in the way and ends in the driver's function, whose answer is its own: the
// compiler makes a jump of that. So nothing comes after the driver's call, and no direct call is noexcept. Where anything
// is in the way it answers not_asked (weir/detail/direct_call.hpp).
namespace weir::detail {

// The driver for a call that means the same inside and outside of captures; null if it is not to be called at once.
[[nodiscard, gnu::always_inline]] inline const driver_table* directly() noexcept {
  if (inside_host_function) return nullptr;
  note_call();
  return table_in_use.load(std::memory_order_acquire);
}

// The same for calls that captures have to do with.
[[nodiscard, gnu::always_inline]] inline const driver_table* directly_without_captures() noexcept {
  return open_captures.load(std::memory_order_relaxed) != 0 ? nullptr : directly();
}

template <class Handle>
[[nodiscard]] constexpr bool is_open(Handle* handle) noexcept {
  return handle != closed_handle<Handle>();
}

}  // namespace weir::detail
