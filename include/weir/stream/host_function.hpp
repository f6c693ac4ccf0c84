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

/// The header of a closure that is queued in a stream. Header and closure are the base and the
/// member of one object, in a memory block from allocate_host_call().
struct host_call : deferred_task {
  void (*invoke)(host_call& self, errc status) = nullptr;  ///< calls the closure; may throw
  /// Destroys the closure; null if its destructor is trivial.
  void (*destroy)(host_call& self) noexcept = nullptr;
  void (*deallocate)(host_call& self) noexcept = nullptr;  ///< frees the memory block
  /// The stream whose next sync() throws an exception of the closure. Not used for a closure in a
  /// graph.
  CUstream_st* stream = nullptr;
  /// An id of that stream, which distinguishes it from a later stream with an equal handle.
  unsigned long long owner = 0;
};

/// A function object that can be called more than once.
template <class F>
concept repeatable = requires(std::decay_t<F>& f) {
  f();
};

/// A function object that can be called once, as an rvalue.
template <class F>
concept consumable = requires(std::decay_t<F>&& f) {
  std::move(f)();
};

/// A function object that can be called once, as an rvalue, with the result of earlier work.
template <class F>
concept takes_status = requires(std::decay_t<F>&& f, errc status) {
  std::move(f)(status);
};

/// Says whether a closure runs once, or may run at every launch of a graph that it was captured
/// into.
enum class host_call_use : unsigned char { once, repeatable };

/// Returns memory for a host_call and its closure, of `bytes` bytes in all. Sets `*deallocate` to
/// the function that frees it. Small blocks usually come from a pool of freed blocks, without an
/// allocation.
[[nodiscard]] WEIR_EXPORT void* allocate_host_call(std::size_t bytes, std::size_t alignment,
                                                   void (**deallocate)(host_call&) noexcept);

/// Queues the closure. On failure destroys the closure, frees its memory and throws.
WEIR_EXPORT void enqueue_host_call(stream_ref stream, host_call& call, host_call_use use,
                                   call_site at);

/// Moves or copies `f` into a memory block and queues it. Invoke{}(f, status) calls it.
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
// - The function runs after the work queued before it, on a thread of the driver. Work queued
//   after it starts when it has returned. Queueing does not block.
// - Functions of all streams may share one thread, so one must not wait for another.
// - Inside the function no CUDA call may be made, and weir's operations throw `not_permitted`.
//   Objects of weir may be destroyed in it: weir's own thread makes the driver calls for that.
// - An exception of the function does not reach the driver, and later work still runs. The next
//   sync() of the stream throws it, or the next wait for a completion of the stream. If several
//   functions threw before that, the first exception is thrown; the others go to
//   set_unhandled_error_handler.
// - The function object is destroyed exactly once, on a thread where CUDA calls are allowed. That
//   happens after it ran or, if the context became unusable before, without having run. If queueing
//   fails, the call destroys it and throws the error.
// - Function objects of up to 64 bytes need no allocation.
// - The three functions throw `not_permitted` if they are called in a host function.
// - Outside captures weir calls cuStreamAddCallback. Unlike cuLaunchHostFunc, it also calls back if
//   the context has become unusable, so that weir can destroy the function object.

/// Calls f() on the host after the work queued so far: once or, if the stream captures, at each
/// launch of the graph. f is called as an lvalue. It is not called if the context becomes unusable
/// before. The comment above launch_host() in host_function.hpp lists all rules.
///
/// In a capture: allowed. The graph owns f, and destroys it when the graph, its clones and its
/// executables are destroyed and no launch is in progress. Exceptions of f go to
/// set_unhandled_error_handler, because launches of the graph may run in any stream.
/// Driver: cuStreamAddCallback; in a capture: cuUserObjectCreate, cuGraphRetainUserObject,
/// cuLaunchHostFunc.
template <detail::repeatable F>
void launch_host(stream_ref stream, F&& f, call_site at = call_site::current()) {
  constexpr auto invoke = [](std::decay_t<F>& closure, errc status) {
    if (status == errc::success) static_cast<void>(closure());
  };
  detail::launch_closure(stream, std::forward<F>(f), invoke, detail::host_call_use::repeatable, at);
}

/// Like launch_host() of a function object: calls function(data). Does not allocate.
///
/// Throws: `invalid_value` for a null function.
WEIR_EXPORT void launch_host(stream_ref stream, void (*function)(void* data), void* data,
                             call_site at = call_site::current());

/// Calls std::move(f)() once on the host after the work queued so far. It is for functions that can
/// run only once because they move their members elsewhere. f is not called if the context becomes
/// unusable before. The comment above launch_host() in host_function.hpp lists all rules.
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

/// Calls std::move(f)(status) exactly once on the host after the work queued so far, even if that
/// work failed. `status` is errc::success or the error. The comment above launch_host() in
/// host_function.hpp lists all rules.
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

/// Returns true if the calling thread is inside a host function: one that launch_host(),
/// launch_host_once() or add_callback() queued, or one of a graph's host function nodes.
[[nodiscard]] WEIR_EXPORT bool in_host_function() noexcept;

}  // namespace weir
