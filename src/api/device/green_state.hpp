// SPDX-License-Identifier: Apache-2.0
// api/device/green_state.hpp - the green contexts that weir owns, found by their context handles.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace weir::detail {

// The state of one green context, with a reference count. References are held by the green_context
// object, by streams of the context that weir owns, and by graphs and timers that use it. The
// release of the last reference destroys the green context.
class green_state {
 public:
  const abi::CUgreenCtx handle;
  const abi::CUcontext context;
  const int device;

  // Registers the green context. The caller holds the first reference.
  green_state(abi::CUgreenCtx green, abi::CUcontext as_context, int ordinal) noexcept;

  // Releases one reference. The release of the last reference destroys the context, or defers that
  // if can_free_now() returns false. Returns the driver's result, or success if nothing was
  // destroyed yet. The caller must not use the state afterwards.
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

  std::atomic<std::uint32_t> holders_{1};  // number of references
  green_state* next_ = nullptr;            // in the list of all states; guarded by its lock
};

// Returns a new reference to the green context with this context handle, which the caller must
// release(). Returns null for any other context. Costs one load while weir owns no green context.
[[nodiscard]] green_state* acquire_green_state(abi::CUcontext context) noexcept;

// A reference that releases itself.
struct green_state_release {
  void operator()(green_state* state) const noexcept { state->release_noexcept(); }
};
using green_state_ref = std::unique_ptr<green_state, green_state_release>;

// Returns true if the context belongs to a green context that weir owns.
[[nodiscard]] bool is_green(abi::CUcontext context) noexcept;

// Returns the context that weir stores as the owner of memory allocated in streams of `context`.
// For a green context that weir owns, this is the device's primary context. The primary context
// shares the memory and exists at least as long. For any other context it is `context` itself.
[[nodiscard]] abi::CUcontext memory_context(abi::CUcontext context, call_site at);

}  // namespace weir::detail
