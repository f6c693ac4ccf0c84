// weir/stream/host_function.hpp - code of the host that runs at a point in a stream's work.
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

// A closure under way to a stream. Lives in a block of weir's pool, directly before the closure.
struct host_call : deferred_task {
  void (*invoke)(host_call& self, errc status) = nullptr;  // may throw
  void (*destroy)(host_call& self) noexcept =
      nullptr;  // the closure's destructor; null if that does nothing
  void (*deallocate)(host_call& self) noexcept =
      nullptr;                    // the block's return to where it came from
  CUstream_st* stream = nullptr;  // whose next sync() gets what the closure throws
  unsigned long long owner = 0;   // which stream that was, if the handle is used again
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

// Does each execution of a captured stream run it again?
enum class host_call_use : unsigned char { once, repeatable };

// A block for a closure of that size; small ones come from a pool and cost no allocation.
[[nodiscard]] WEIR_EXPORT void* allocate_host_call(std::size_t bytes, std::size_t alignment,
                                                   void (**deallocate)(host_call&) noexcept);

// Queues it. If that fails, destroys the closure here and now, once, and throws.
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

// What holds for all three:
// The function runs after the work queued before it, on a thread of the driver's; work queued after
// it starts when it has returned. Queueing does not block. Functions of all streams may share one
// thread, so one must not wait for another. Inside it no CUDA call may be made, and weir refuses
// its own operations (not_permitted). Destroying weir's objects is allowed: weir hands them to
// another thread. An exception that it throws does not reach the driver: later work runs on, and
// the next sync() of the stream throws it; if several were thrown, the first one, and the others go
// to set_unhandled_error_handler. The function object is destroyed exactly once, after it ran, or,
// if the context is lost before, without having run. That happens on a thread where CUDA calls are
// allowed. If queueing fails it is destroyed in the call, and its error thrown. Function objects up
// to 64 bytes cost no allocation. In a host function: refused. cuStreamAddCallback, whose callback,
// unlike a host function, also comes when the context is lost.

// Runs f(), called as an lvalue, each time that this point of the stream is executed: once, or, in
// a capture, at each launch of the graph. The graph owns f then, and it is destroyed after the
// graph, its clones and executables are gone and no launch is under way; what it throws goes to
// set_unhandled_error_handler, as no one stream stands for all launches. Not called if the context
// is lost. In a capture: cuUserObjectCreate, cuGraphRetainUserObject, cuLaunchHostFunc.
template <detail::repeatable F>
void launch_host(stream_ref stream, F&& f, call_site at = call_site::current()) {
  constexpr auto invoke = [](std::decay_t<F>& closure, errc status) {
    if (status == errc::success) static_cast<void>(closure());
  };
  detail::launch_closure(stream, std::forward<F>(f), invoke, detail::host_call_use::repeatable, at);
}

// The same for C: function(data) and nothing else. No allocation. Null is refused (invalid_value).
WEIR_EXPORT void launch_host(stream_ref stream, void (*function)(void* data), void* data,
                             call_site at = call_site::current());

// Runs std::move(f)() once, for functions that can run only once: they give away what they hold.
// Not called if the context is lost. In a capture: refused (stream_capture_unsupported) before the
// driver sees it; the capture lives on.
template <detail::consumable F>
void launch_host_once(stream_ref stream, F&& f, call_site at = call_site::current()) {
  constexpr auto invoke = [](std::decay_t<F>& closure, errc status) {
    if (status == errc::success) static_cast<void>(std::move(closure)());
  };
  detail::launch_closure(stream, std::forward<F>(f), invoke, detail::host_call_use::once, at);
}

// Runs std::move(f)(status) exactly once, also when the work before it failed: status is success,
// or the error. In a capture: refused, as launch_host_once().
template <detail::takes_status F>
void add_callback(stream_ref stream, F&& f, call_site at = call_site::current()) {
  constexpr auto invoke = [](std::decay_t<F>& closure, errc status) {
    static_cast<void>(std::move(closure)(status));
  };
  detail::launch_closure(stream, std::forward<F>(f), invoke, detail::host_call_use::once, at);
}

// Is the calling thread inside one of these functions?
[[nodiscard]] WEIR_EXPORT bool in_host_function() noexcept;

}  // namespace weir
