// SPDX-License-Identifier: Apache-2.0
// stdexec/concepts.hpp - the concepts of the replacement for stdexec, and the function objects that
// call the members of types which model them.
#pragma once

#include <stdexec/stop_token.hpp>

#include <concepts>
#include <exception>
#include <type_traits>
#include <utility>

namespace stdexec {

struct sender_tag {};
struct receiver_tag {};
struct operation_state_tag {};
struct scheduler_tag {};

// Environments and their queries.

template <class T>
concept queryable = std::destructible<T>;

template <class...>
struct env {};

struct get_env_t {
  template <class T>
  auto operator()(const T& from) const noexcept {
    if constexpr (requires { from.get_env(); }) {
      static_assert(noexcept(from.get_env()));
      return from.get_env();
    } else {
      return env<>{};
    }
  }
};
inline constexpr get_env_t get_env{};
template <class T>
using env_of_t = decltype(get_env(std::declval<T>()));

struct get_stop_token_t {
  template <class Env>
  auto operator()(const Env& from) const noexcept {
    if constexpr (requires { from.query(get_stop_token_t{}); }) {
      return from.query(*this);
    } else {
      return never_stop_token{};
    }
  }
};
inline constexpr get_stop_token_t get_stop_token{};

template <class Tag>
struct get_completion_scheduler_t {
  template <class Env>
  auto operator()(const Env& from) const noexcept {
    static_assert(noexcept(from.query(*this)));
    return from.query(*this);
  }
};
template <class Tag>
inline constexpr get_completion_scheduler_t<Tag> get_completion_scheduler{};

// Completions.

struct set_value_t {
  template <class R, class... Values>
  void operator()(R&& receiver, Values&&... values) const noexcept {
    static_assert(!std::is_lvalue_reference_v<R>);
    static_assert(noexcept(std::move(receiver).set_value(std::forward<Values>(values)...)));
    std::move(receiver).set_value(std::forward<Values>(values)...);
  }
};
inline constexpr set_value_t set_value{};

struct set_error_t {
  template <class R, class Error>
  void operator()(R&& receiver, Error&& failure) const noexcept {
    static_assert(!std::is_lvalue_reference_v<R>);
    static_assert(noexcept(std::move(receiver).set_error(std::forward<Error>(failure))));
    std::move(receiver).set_error(std::forward<Error>(failure));
  }
};
inline constexpr set_error_t set_error{};

struct set_stopped_t {
  template <class R>
  void operator()(R&& receiver) const noexcept {
    static_assert(!std::is_lvalue_reference_v<R>);
    static_assert(noexcept(std::move(receiver).set_stopped()));
    std::move(receiver).set_stopped();
  }
};
inline constexpr set_stopped_t set_stopped{};

template <class...>
struct completion_signatures {};

template <class T>
inline constexpr bool is_completion_signatures = false;
template <class... Signatures>
inline constexpr bool is_completion_signatures<completion_signatures<Signatures...>> = true;

template <class Sender, class... Env>
consteval auto get_completion_signatures() {
  return std::remove_cvref_t<Sender>::template get_completion_signatures<Sender, Env...>();
}
template <class Sender, class... Env>
using completion_signatures_of_t = decltype(get_completion_signatures<Sender, Env...>());

// The concepts.

template <class R>
concept receiver =
    std::derived_from<typename std::remove_cvref_t<R>::receiver_concept, receiver_tag> &&
    std::is_nothrow_move_constructible_v<std::remove_cvref_t<R>> &&
    std::constructible_from<std::remove_cvref_t<R>, R> &&
    requires(const std::remove_cvref_t<R>& r) {
  { get_env(r) } -> queryable;
};

template <class S>
concept sender = std::derived_from<typename std::remove_cvref_t<S>::sender_concept, sender_tag> &&
    std::move_constructible<std::remove_cvref_t<S>> &&
    std::constructible_from<std::remove_cvref_t<S>, S> &&
    requires(const std::remove_cvref_t<S>& s) {
  { get_env(s) } -> queryable;
};

template <class S, class... Env>
concept sender_in = sender<S> && sizeof...(Env) <= 1 &&
                    is_completion_signatures<completion_signatures_of_t<S, Env...>>;

template <class O>
concept operation_state =
    std::derived_from<typename O::operation_state_concept, operation_state_tag> &&
    requires(O& operation) {
  requires noexcept(operation.start());
};

struct start_t {
  template <operation_state O>
  void operator()(O& operation) const noexcept {
    operation.start();
  }
};
inline constexpr start_t start{};

struct connect_t {
  template <class S, class R>
  auto operator()(S&& from, R&& to) const {
    static_assert(sender_in<S, env_of_t<R>> && receiver<R>);
    using operation = decltype(std::forward<S>(from).connect(std::forward<R>(to)));
    static_assert(operation_state<operation>);
    return std::forward<S>(from).connect(std::forward<R>(to));
  }
};
inline constexpr connect_t connect{};

struct schedule_t {
  template <class S>
  auto operator()(S&& on) const noexcept {
    static_assert(sender<decltype(std::forward<S>(on).schedule())>);
    return std::forward<S>(on).schedule();
  }
};
inline constexpr schedule_t schedule{};

template <class S>
concept scheduler =
    std::derived_from<typename std::remove_cvref_t<S>::scheduler_concept, scheduler_tag> &&
    queryable<S> && std::equality_comparable<std::remove_cvref_t<S>> &&
    std::copyable<std::remove_cvref_t<S>> && requires(S&& s) {
  { schedule(std::forward<S>(s)) } -> sender;
  {
    get_completion_scheduler<set_value_t>(get_env(schedule(std::forward<S>(s))))
    } -> std::same_as<std::remove_cvref_t<S>>;
};

// A run loop's scheduler, only as far as its concept.
struct run_loop {
  struct its_scheduler {
    using scheduler_concept = scheduler_tag;
  };
  static its_scheduler get_scheduler() noexcept { return {}; }
};

}  // namespace stdexec
