// SPDX-License-Identifier: Apache-2.0
// weir/stream/host_function.hpp - host functions: host code that runs at a point in a stream's
// work.
#pragma once

#include <weir/core/call_site.hpp>
#include <weir/core/deferred.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

/// A closure that is queued in a stream. It is stored in a block of weir's pool, directly before
/// the closure.
struct host_call : deferred_task {
  void (*invoke)(host_call& self, errc status) = nullptr;  ///< may throw
  /// destroys the closure; null if that does nothing
  void (*destroy)(host_call& self) noexcept = nullptr;
  void (*deallocate)(host_call& self) noexcept = nullptr;  ///< returns the block
  CUstream_st* stream = nullptr;  ///< the stream whose next sync() throws the closure's exception
  unsigned long long owner = 0;   ///< identifies that stream if the handle is reused
};

template <class F>
concept repeatable = requires(std::decay_t<F>& f) {
  f();
};

template <class F>
concept consumable = requires(std::decay_t<F>&& f) {
  std::move(f)();
};

template <class F>
concept takes_status = requires(std::decay_t<F>&& f, errc status) {
  std::move(f)(status);
};

/// Says if a closure runs once or at every execution of a captured stream.
enum class host_call_use : unsigned char { once, repeatable };

/// Allocates a block for a closure of that size. Small blocks come from a pool, without an
/// allocation.
[[nodiscard]] WEIR_EXPORT void* allocate_host_call(std::size_t bytes, std::size_t alignment,
                                                   void (**deallocate)(host_call&) noexcept);

/// Queues the closure. On failure destroys the closure once and throws.
WEIR_EXPORT void enqueue_host_call(stream_ref stream, host_call& call, host_call_use use,
                                   call_site at);

template <class F, class Invoke>
void launch_closure(stream_ref stream, F&& f, Invoke, host_call_use use, call_site at) {
  using closure = std::decay_t<F>;
  struct block : host_call {
    closure f;
    explicit block(F&& source) : host_call{}, f(std::forward<F>(source)) {}
  };
  static_assert(alignof(block) <= 4096, "aligned to a page at most");
  void (*deallocate)(host_call&) noexcept = nullptr;
  void* const memory = allocate_host_call(sizeof(block), alignof(block), &deallocate);
  block* call = nullptr;
  try {
    call = ::new (memory) block(std::forward<F>(f));
  } catch (...) {
    deallocate(*::new (memory) host_call{});
    throw;
  }
  call->invoke = [](host_call& self, errc status) {
    Invoke{}(static_cast<block&>(self).f, status);
  };
  if constexpr (!std::is_trivially_destructible_v<closure>) {
    call->destroy = [](host_call& self) noexcept { static_cast<block&>(self).f.~closure(); };
  }
  call->deallocate = deallocate;
  enqueue_host_call(stream, *call, use, at);
}

}  // namespace detail

// These rules hold for launch_host(), launch_host_once() and add_callback():
//
// - The function runs after the work queued before it, on a thread of the driver's. Work queued
//   after it starts when it has returned. Queueing does not block.
// - Functions of all streams may share one thread, so one must not wait for another.
// - Inside the function no CUDA call may be made, and weir's operations throw `not_permitted`.
//   weir's objects may be destroyed: another thread does it.
// - An exception of the function does not reach the driver, and later work still runs. The next
//   sync() of the stream throws it, or the next wait for a completion of the stream. Of several
//   exceptions the first is thrown; the others go to set_unhandled_error_handler.
// - The function object is destroyed exactly once, on a thread where CUDA calls are allowed: after
//   it ran or, if the context becomes unusable before, without having run. If queueing fails, it is
//   destroyed in the call, which throws the error.
// - Function objects of up to 64 bytes need no allocation.
// - In a host function the calls throw `not_permitted`.
// - The driver call is cuStreamAddCallback. Unlike cuLaunchHostFunc it also calls back when the
//   context has become unusable.

/// Runs f(), called as an lvalue, each time this point of the stream is executed. That is once or,
/// if it was captured, at each launch of the graph. Not called if the context becomes unusable
/// before. See above for the rules.
///
/// In a capture: allowed. The graph owns f, and destroys it when the graph, its clones and its
/// executables are destroyed and no launch is in progress. Exceptions of f go to
/// set_unhandled_error_handler, because no stream represents all launches.
/// Driver: cuStreamAddCallback; in a capture: cuUserObjectCreate, cuGraphRetainUserObject,
/// cuLaunchHostFunc.
template <detail::repeatable F>
void launch_host(stream_ref stream, F&& f, call_site at = call_site::current()) {
  constexpr auto invoke = [](std::decay_t<F>& closure, errc status) {
    if (status == errc::success) static_cast<void>(closure());
  };
  detail::launch_closure(stream, std::forward<F>(f), invoke, detail::host_call_use::repeatable, at);
}

/// Like launch_host() for a C function: calls function(data). Does not allocate.
///
/// Throws: `invalid_value` for a null function.
WEIR_EXPORT void launch_host(stream_ref stream, void (*function)(void* data), void* data,
                             call_site at = call_site::current());

/// Runs std::move(f)() once, for functions that can run only once because they give away what they
/// hold. Not called if the context becomes unusable before. See above for the rules.
///
/// In a capture: throws `stream_capture_unsupported` before the driver is called; the capture stays
/// valid.
/// Driver: cuStreamAddCallback.
template <detail::consumable F>
void launch_host_once(stream_ref stream, F&& f, call_site at = call_site::current()) {
  constexpr auto invoke = [](std::decay_t<F>& closure, errc status) {
    if (status == errc::success) static_cast<void>(std::move(closure)());
  };
  detail::launch_closure(stream, std::forward<F>(f), invoke, detail::host_call_use::once, at);
}

/// Runs std::move(f)(status) exactly once, even if earlier work failed. `status` is success or the
/// error. See above for the rules.
///
/// In a capture: throws `stream_capture_unsupported` before the driver is called; the capture stays
/// valid.
/// Driver: cuStreamAddCallback.
template <detail::takes_status F>
void add_callback(stream_ref stream, F&& f, call_site at = call_site::current()) {
  constexpr auto invoke = [](std::decay_t<F>& closure, errc status) {
    static_cast<void>(std::move(closure)(status));
  };
  detail::launch_closure(stream, std::forward<F>(f), invoke, detail::host_call_use::once, at);
}

/// Returns true if the calling thread is running one of these functions.
[[nodiscard]] WEIR_EXPORT bool in_host_function() noexcept;

}  // namespace weir
