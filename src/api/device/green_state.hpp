// api/device/green_state.hpp - what weir knows of the green contexts it owns, found by their
// contexts.
#pragma once

#include "driver/abi.hpp"

#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>

#include <atomic>
#include <cstdint>

namespace weir::detail {

// One for each green context. Its holders keep it alive: the owner, and each stream that weir made
// in it. The last one destroys it.
class green_state {
 public:
  const abi::CUgreenCtx handle;
  const abi::CUcontext context;
  const int device;

  // Makes weir know it; the caller is its first holder.
  green_state(abi::CUgreenCtx green, abi::CUcontext as_context, int ordinal) noexcept;

  // Gives up one holder's share. The last one destroys the context, now or, where that may not be,
  // later, and answers what the driver says. The state is not to be touched afterwards.
  [[nodiscard]] errc release() noexcept;
  // The same for destructors: what fails goes to set_unhandled_error_handler.
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

// A share in the green context whose face that is; null for any other context. One load where there
// is no green context.
[[nodiscard]] green_state* acquire_green_state(abi::CUcontext context) noexcept;

// Is it one of a green context of weir's?
[[nodiscard]] bool is_green(abi::CUcontext context) noexcept;

// The context that memory of another context's streams is said to be of: of a green one of weir's
// the primary context, which shares it and does not end before it; else the same.
[[nodiscard]] abi::CUcontext memory_context(abi::CUcontext context, call_site at);

}  // namespace weir::detail
