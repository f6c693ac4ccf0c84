// SPDX-License-Identifier: Apache-2.0
// api/device/green_state.hpp - the green contexts that weir owns, found by their context handles.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>

#include <atomic>
#include <cstdint>

namespace weir::detail {

// The state of one green context, with a reference count. The holders are the owner and each of its
// streams that weir owns. The last one destroys it.
class green_state {
 public:
  const abi::CUgreenCtx handle;
  const abi::CUcontext context;
  const int device;

  // Registers the green context. The caller holds the first reference.
  green_state(abi::CUgreenCtx green, abi::CUcontext as_context, int ordinal) noexcept;

  // Releases one reference. The last one destroys the context, now or, if frees are not allowed
  // now, later. Returns the driver's result. The state must not be used afterwards.
  [[nodiscard]] errc release() noexcept;
  // Like release(), for destructors: passes a failure to set_unhandled_error_handler()'s handler.
  void release_noexcept() noexcept;

 private:
  friend green_state* acquire_green_state(abi::CUcontext context) noexcept;
  friend bool is_green(abi::CUcontext context) noexcept;
  friend abi::CUcontext memory_context(abi::CUcontext context, call_site at);
  [[nodiscard]] static green_state* find(abi::CUcontext context) noexcept;
  ~green_state() = default;
  [[nodiscard]] errc destroy() noexcept;

  std::atomic<std::uint32_t> holders_{1};
  green_state* next_ = nullptr;  // in the list of all
};

// Returns a reference to the green context with this context handle; null for any other context.
// Costs one load while there is no green context.
[[nodiscard]] green_state* acquire_green_state(abi::CUcontext context) noexcept;

// Returns true if the context belongs to a green context that weir owns.
[[nodiscard]] bool is_green(abi::CUcontext context) noexcept;

// Returns the context to which memory of this context's streams is attributed. If weir owns it as a
// green context, this is the primary context, which shares the memory and exists at least as long.
// Otherwise it is the context itself.
[[nodiscard]] abi::CUcontext memory_context(abi::CUcontext context, call_site at);

}  // namespace weir::detail
