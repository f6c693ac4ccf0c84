// weir/completion/awaitable.hpp - what can be awaited, and what that gives.
#pragma once

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

// The type may be void, bool, or a handle.
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

// What `co_await a` asks, in a coroutine whose promise does not transform it.
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

template <class A>
concept awaitable = detail::has_member_co_await<A> || detail::has_free_co_await<A> ||
    detail::awaiter<std::remove_reference_t<A>>;

// What `co_await` gives for it.
template <awaitable A>
using await_result_t =
    decltype(std::declval<decltype(detail::awaiter_of(std::declval<A>()))&>().await_resume());

}  // namespace weir
