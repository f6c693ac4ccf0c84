// weir/interop/asio.hpp - completions and futures awaited in the ways of Asio: by use_awaitable,
// use_future, callbacks, and any other completion token. For standalone Asio, 1.22 or later.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/core/call_site.hpp>
#include <weir/interop/detail/asio_operation.hpp>

#include <asio/async_result.hpp>
#include <asio/execution_context.hpp>
#include <concepts>
#include <exception>
#include <utility>

namespace weir {

// Waits for a completion; what comes of that depends on the token:
//
//   co_await weir::async_wait(s.completion(), asio::use_awaitable);        // in an asio::awaitable
//   std::future<void> end = weir::async_wait(s.completion(), asio::use_future);
//   weir::async_wait(io, s.completion(), [](std::exception_ptr failure) { ... });
//
// The signature is void(std::exception_ptr): null if the work is done. Else it holds what co_await
// of the completion throws: the weir::error that the work failed with, or what a host function of
// the stream has thrown; or, after a cancellation, a std::system_error of
// asio::error::operation_aborted. A weir::error is a std::system_error, too.
//
// The handler is called once, never inside of this call, through its associated executor, which
// stays at work until then. A handler that has none is called through the executor that is given
// here; where none is given, on a thread of the reactor's, which it must not block. Memory comes
// from the handler's associated allocator: for the wait, which is given back before the handler is
// called, and for the executor's own part.
//
// Cancellation, of any type, ends the wait and never the work. If the work has just been found to
// be done, it comes too late. As for all of Asio, signals are emitted where the handler's executor
// runs.
//
// If the context of the executor ends first, the handler is destroyed with it and not called, as
// those of Asio's own operations are. A context that was made to be used without locks
// (ASIO_CONCURRENCY_HINT_UNSAFE) will not do, as the end of the work is found on another thread. An
// executor that throws when it is given the handler ends the program.
//
// Thread safety: from any thread. In captures and host functions: allowed. Throws std::bad_alloc or
// std::system_error, if there is no memory or no thread, and then calls nothing. For want of
// memory, however, use_awaitable ends the program, as with all of Asio's operations: it begins a
// wait when its coroutine is suspended, and nobody could catch what is thrown.
template <::asio::completion_token_for<void(std::exception_ptr)> Token>
auto async_wait(completion awaited, Token&& token, call_site at = call_site::current()) {
  return ::asio::async_initiate<Token, void(std::exception_ptr)>(
      detail::begin_asio_wait{}, token, detail::asio_source(detail::asio_completion{awaited, at}));
}
template <detail::asio_executor Executor,
          ::asio::completion_token_for<void(std::exception_ptr)> Token>
auto async_wait(const Executor& where, completion awaited, Token&& token,
                call_site at = call_site::current()) {
  return ::asio::async_initiate<Token, void(std::exception_ptr)>(
      detail::begin_asio_wait_at<Executor>{where}, token,
      detail::asio_source(detail::asio_completion{awaited, at}));
}
template <std::derived_from<::asio::execution_context> Context,
          ::asio::completion_token_for<void(std::exception_ptr)> Token>
auto async_wait(Context& where, completion awaited, Token&& token,
                call_site at = call_site::current()) {
  return async_wait(where.get_executor(), awaited, std::forward<Token>(token), at);
}

// The same for a future that is given away: gives its value. The signature is
// void(std::exception_ptr, T), and the handler gets a T{} if there is no value; for types that have
// none that cannot throw, such as buffers, void(std::exception_ptr, std::optional<T>). A future
// without a value is refused at once: closed. One is dropped when its wait is cancelled; to have
// the value later all the same, wait for f.completion(), then f.get().
template <detail::value_type T,
          ::asio::completion_token_for<void(std::exception_ptr, detail::asio_value<T>)> Token>
auto async_wait(future<T>&& awaited, Token&& token, call_site at = call_site::current()) {
  return ::asio::async_initiate<Token, void(std::exception_ptr, detail::asio_value<T>)>(
      detail::begin_asio_wait{}, token,
      detail::asio_source(detail::asio_future<T>{std::move(awaited), at}));
}
template <detail::asio_executor Executor, detail::value_type T,
          ::asio::completion_token_for<void(std::exception_ptr, detail::asio_value<T>)> Token>
auto async_wait(const Executor& where, future<T>&& awaited, Token&& token,
                call_site at = call_site::current()) {
  return ::asio::async_initiate<Token, void(std::exception_ptr, detail::asio_value<T>)>(
      detail::begin_asio_wait_at<Executor>{where}, token,
      detail::asio_source(detail::asio_future<T>{std::move(awaited), at}));
}
template <std::derived_from<::asio::execution_context> Context, detail::value_type T,
          ::asio::completion_token_for<void(std::exception_ptr, detail::asio_value<T>)> Token>
auto async_wait(Context& where, future<T>&& awaited, Token&& token,
                call_site at = call_site::current()) {
  return async_wait(where.get_executor(), std::move(awaited), std::forward<Token>(token), at);
}

}  // namespace weir
