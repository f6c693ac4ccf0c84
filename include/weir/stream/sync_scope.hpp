// SPDX-License-Identifier: Apache-2.0
// weir/stream/sync_scope.hpp - a block of work that has finished when the block ends.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

/// Waits for the stream. Called while an exception of the body is handled. An error of the wait is
/// attached to that exception if both are weir::error; otherwise it goes to
/// set_unhandled_error_handler.
WEIR_EXPORT void sync_after_failure(stream_ref stream, call_site at) noexcept;

/// Throws if a sync_guard forbids waits. Called before the body: if only the wait after the body
/// threw, copies that the body queued could still use memory of the caller after its destruction.
WEIR_EXPORT void throw_if_sync_scope_forbidden(call_site at);

}  // namespace detail

/// Runs body(stream), then waits for the stream, also if the body throws. Returns the body's
/// result. Memory of the enclosing block can therefore be lent to copies inside:
///
///   std::vector<float> host(n);
///   weir::sync_scope(s, [&](weir::stream_ref s) { weir::copy(s, x, host); });
///   use(host);  // the copy has finished
///
/// Throws: the exception of the body, or else the exception of the wait. If both throw a
/// weir::error, the error of the wait is attached to the error of the body. In all other cases the
/// exception of the wait goes to set_unhandled_error_handler (for example an exception of a host
/// function).
/// In a capture: as stream_ref::sync().
/// In a host function: throws `not_permitted`.
/// Driver: cuStreamSynchronize.
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
