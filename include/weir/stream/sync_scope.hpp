// weir/stream/sync_scope.hpp - a block of work that is done when the block ends.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

// For a body that throws: syncs, attaches what that fails with to the exception under way if it is
// a weir::error, else gives it to set_unhandled_error_handler.
WEIR_EXPORT void sync_after_failure(stream_ref stream, call_site at) noexcept;

// Throws where an sync_guard guard refuses waits: before the body, whose memory would be gone
// without the wait.
WEIR_EXPORT void throw_if_sync_scope_forbidden(call_site at);

}  // namespace detail

// Runs body(stream), then waits for the stream, also if the body throws; what the body throws comes
// first, and what the sync fails with is attached to it if both are of weir, else goes to
// set_unhandled_error_handler (an exception of a host function, say). Gives what the body gives. So
// memory of the enclosing block can be lent to copies inside:
//
//   std::vector<float> host(n);
//   weir::sync_scope(s, [&](weir::stream_ref s) { weir::copy(s, x, host); });
//   use(host);                                              // certainly there
//
// In a capture: as stream_ref::sync(). In a host function: refused. cuStreamSynchronize.
template <std::invocable<stream_ref> Body>
decltype(auto) sync_scope(stream_ref stream, Body&& body, call_site at = call_site::current()) {
  using result = std::invoke_result_t<Body, stream_ref>;
  detail::throw_if_sync_scope_forbidden(at);
  const auto run = [&]() -> result {
    try {
      return std::forward<Body>(body)(stream);
    } catch (...) {
      detail::sync_after_failure(stream, at);
      throw;
    }
  };
  if constexpr (std::is_void_v<result>) {
    run();
    stream.sync(at);
  } else {
    result value = run();
    stream.sync(at);
    return static_cast<result>(std::forward<result>(value));
  }
}

}  // namespace weir
