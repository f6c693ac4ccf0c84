// SPDX-License-Identifier: Apache-2.0
// weir/interop/asio.hpp - waits for completions and futures with Asio completion tokens. For
// standalone Asio, 1.22 or later.
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

/// Waits for a completion with an Asio completion token: use_awaitable, use_future, a callback or
/// any other:
///
///   co_await weir::async_wait(s.completion(), asio::use_awaitable);  // in an asio::awaitable
///   std::future<void> end = weir::async_wait(s.completion(), asio::use_future);
///   weir::async_wait(io, s.completion(), [](std::exception_ptr failure) { ... });
///
/// Signature: void(std::exception_ptr). The pointer is null if the work has succeeded. Otherwise it
/// holds what co_await of the completion throws: the weir::error of the failed work, or the
/// exception of a host function of the stream. After a cancellation it holds a std::system_error of
/// asio::error::operation_aborted. (A weir::error is a std::system_error, too.)
///
/// The handler is called once, never inside this call, through its associated executor, which
/// counts as having work until then. A handler without an associated executor is called on a
/// reactor thread, which it must not block; other overloads take an executor for such handlers. The
/// memory for the wait and for the executor's queue entry comes from the handler's associated
/// allocator. The memory for the wait is returned to the allocator before the handler is called.
///
/// Cancellation of any type ends the wait, never the work. It has no effect if weir has already
/// detected the end of the work. As everywhere in Asio, emit signals on the handler's executor.
///
/// If the executor's context is destroyed before the work is done, the handler is destroyed with
/// the context and not called, as in Asio's own operations. A context that was created for use
/// without locks (ASIO_CONCURRENCY_HINT_UNSAFE) does not work, because another thread detects the
/// end of the work. If an executor throws when it is given the handler, the program is terminated;
/// if the work was done before this call, the call throws that exception instead.
///
/// Throws: std::bad_alloc or std::system_error if there is no memory or no thread; the handler is
/// then not called. With use_awaitable, as in all of Asio's operations, lack of memory terminates
/// the program: the wait begins when the coroutine is already suspended, so the exception could not
/// be caught.
/// In a capture: allowed.
/// In a host function: allowed.
/// Thread safety: may be called from any thread.
template <::asio::completion_token_for<void(std::exception_ptr)> Token>
auto async_wait(completion awaited, Token&& token, call_site at = call_site::current()) {
  return ::asio::async_initiate<Token, void(std::exception_ptr)>(
      detail::begin_asio_wait{}, token, detail::asio_source(detail::asio_completion{awaited, at}));
}
/// Like async_wait(awaited, token), but calls a handler without an associated executor through the
/// executor `where`.
template <detail::asio_executor Executor,
          ::asio::completion_token_for<void(std::exception_ptr)> Token>
auto async_wait(const Executor& where, completion awaited, Token&& token,
                call_site at = call_site::current()) {
  return ::asio::async_initiate<Token, void(std::exception_ptr)>(
      detail::begin_asio_wait_at<Executor>{where}, token,
      detail::asio_source(detail::asio_completion{awaited, at}));
}
/// Like async_wait(awaited, token), but calls a handler without an associated executor through the
/// executor of the context `where`.
template <std::derived_from<::asio::execution_context> Context,
          ::asio::completion_token_for<void(std::exception_ptr)> Token>
auto async_wait(Context& where, completion awaited, Token&& token,
                call_site at = call_site::current()) {
  return async_wait(where.get_executor(), awaited, std::forward<Token>(token), at);
}

/// Waits for a future, which is moved in, and passes its value to the handler.
///
/// Signature: void(std::exception_ptr, T); the handler gets a T{} if the wait has failed or was
/// cancelled. For types whose default constructor is missing or can throw, such as buffers, it is
/// void(std::exception_ptr, std::optional<T>). If the wait is cancelled, the future is destroyed,
/// and its value is destroyed when the work is done. To keep the value, wait for f.completion()
/// instead, then call f.get().
///
/// Throws: `closed` at once for a future without a value; otherwise as async_wait() of a
/// completion.
template <detail::value_type T,
          ::asio::completion_token_for<void(std::exception_ptr, detail::asio_value<T>)> Token>
auto async_wait(future<T>&& awaited, Token&& token, call_site at = call_site::current()) {
  return ::asio::async_initiate<Token, void(std::exception_ptr, detail::asio_value<T>)>(
      detail::begin_asio_wait{}, token,
      detail::asio_source(detail::asio_future<T>{std::move(awaited), at}));
}
/// Like async_wait(future, token), but calls a handler without an associated executor through the
/// executor `where`.
template <detail::asio_executor Executor, detail::value_type T,
          ::asio::completion_token_for<void(std::exception_ptr, detail::asio_value<T>)> Token>
auto async_wait(const Executor& where, future<T>&& awaited, Token&& token,
                call_site at = call_site::current()) {
  return ::asio::async_initiate<Token, void(std::exception_ptr, detail::asio_value<T>)>(
      detail::begin_asio_wait_at<Executor>{where}, token,
      detail::asio_source(detail::asio_future<T>{std::move(awaited), at}));
}
/// Like async_wait(future, token), but calls a handler without an associated executor through the
/// executor of the context `where`.
template <std::derived_from<::asio::execution_context> Context, detail::value_type T,
          ::asio::completion_token_for<void(std::exception_ptr, detail::asio_value<T>)> Token>
auto async_wait(Context& where, future<T>&& awaited, Token&& token,
                call_site at = call_site::current()) {
  return async_wait(where.get_executor(), std::move(awaited), std::forward<Token>(token), at);
}

}  // namespace weir
