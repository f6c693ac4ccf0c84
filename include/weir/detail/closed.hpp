// weir/detail/closed.hpp - the handle of an object that is closed, released or moved from.
#pragma once

namespace weir::detail {

// Not null: a null stream is the legacy default stream, so null would send the work of a closed
// stream there. No driver gives this address out, and weir refuses it before a driver sees it.
template <class Handle>
[[nodiscard]] inline Handle* closed_handle() noexcept {
  return reinterpret_cast<Handle*>(~static_cast<__UINTPTR_TYPE__>(0));
}

}  // namespace weir::detail
