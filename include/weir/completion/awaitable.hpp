// SPDX-License-Identifier: Apache-2.0
// weir/completion/awaitable.hpp - the concept of types that can be awaited, and the type of their
// result. To await a stream's work: weir/completion/completion.hpp.
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

/// A type with await_ready(), await_suspend() and await_resume(). await_suspend() may return void,
/// bool or a handle.
template <class A>
concept awaiter = requires(A& a, std::coroutine_handle<> h) {
  { a.await_ready() } -> std::convertible_to<bool>;
  a.await_suspend(h);
  a.await_resume();
};

template <class A>
concept has_member_co_await = requires(A&& a) {
  { std::forward<A>(a).operator co_await() } -> awaiter;
};

template <class A>
concept has_free_co_await = requires(A&& a) {
  { operator co_await(std::forward<A>(a)) } -> awaiter;
};

/// Returns the awaiter of `co_await a`, in a coroutine whose promise does not transform it.
template <class A>
decltype(auto) awaiter_of(A&& a) {
  if constexpr (has_member_co_await<A>) {
    return std::forward<A>(a).operator co_await();
  } else if constexpr (has_free_co_await<A>) {
    return operator co_await(std::forward<A>(a));
  } else {
    return std::forward<A>(a);
  }
}

}  // namespace detail

/// A type that co_await accepts: it has a member or free operator co_await, or the functions of an
/// awaiter.
template <class A>
concept awaitable = detail::has_member_co_await<A> || detail::has_free_co_await<A> ||
    detail::awaiter<std::remove_reference_t<A>>;

/// The type of the expression `co_await a`.
template <awaitable A>
using await_result_t =
    decltype(std::declval<decltype(detail::awaiter_of(std::declval<A>()))&>().await_resume());

}  // namespace weir
