// weir/completion/when.hpp - several completions as one wait: all of them, or the first.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/completion/stop.hpp>
#include <weir/core/call_site.hpp>
#include <weir/detail/awaitable_of.hpp>
#include <weir/detail/composite_wait.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>

#include <array>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {

template <class T>
class future;

namespace detail {

// Throws invalid_value: there is no first one of nothing.
WEIR_EXPORT void throw_if_when_any_is_empty(std::size_t completions, call_site at);

template <class Completions>
struct wait_items;
template <std::size_t N>
struct wait_items<std::array<completion, N>> {
  explicit wait_items(const std::array<completion, N>&) {}
  std::array<wait_item, N> items;
};
template <>
struct wait_items<std::vector<completion>> {
  explicit wait_items(const std::vector<completion>& set) : items(set.size()) {}
  std::vector<wait_item> items;
};

template <class Completions, wait_count Count>
struct completion_set;

// With an end it tells whether that has come: false, or nothing.
template <class Completions, wait_count Count, bool HasTimeout>
class completion_set_awaiter : public composite_wait {
 public:
  completion_set_awaiter(const completion_set<Completions, Count>& set, long long timeout,
                         call_site at)
      : composite_wait{Count, timeout}, items_{set.completions}, at_{at} {
    for (std::size_t i = 0; i != items_.items.size(); ++i)
      set_item(items_.items[i], set.completions[i]);
  }

  [[nodiscard]] bool await_ready() noexcept { return try_complete(items_.items); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    return start(items_.items, awaiting);
  }
  auto await_resume() const {
    if constexpr (Count == wait_count::one && HasTimeout) {
      return result() == wait_result::done ? std::optional{first()} : std::nullopt;
    } else if constexpr (Count == wait_count::one) {
      return first();
    } else if constexpr (HasTimeout) {
      if (result() != wait_result::done) return false;
      throw_failure(items_.items, at_);
      return true;
    } else {
      throw_failure(items_.items, at_);
    }
  }

 private:
  wait_items<Completions> items_;
  call_site at_;
};

// What when_all() and when_any() of completions give.
template <class Completions, wait_count Count>
struct completion_set {
  [[nodiscard]] auto operator co_await() const {
    return completion_set_awaiter<Completions, Count, false>{*this, forever, at};
  }
  template <duration_like Duration>
  [[nodiscard]] auto within(const Duration& timeout) const {
    return awaitable_of<completion_set_awaiter<Completions, Count, true>, completion_set, long long,
                        call_site>{*this, nanoseconds(timeout), at};
  }
  template <time_point_like TimePoint>
  [[nodiscard]] auto by(const TimePoint& deadline) const {
    using awaiter_type =
        deadline_awaiter<completion_set_awaiter<Completions, Count, true>, TimePoint>;
    return awaitable_of<awaiter_type, completion_set, TimePoint, call_site>{*this, deadline, at};
  }

  Completions completions;
  call_site at;
};

// A completion, or what has one and stays.
template <class C>
concept refers_to_completion = std::convertible_to < const std::remove_cvref_t<C>
&, completion >
       &&(std::is_lvalue_reference_v<C> || std::derived_from<std::remove_cvref_t<C>, completion>);

}  // namespace detail

// co_await when_all(a, b, c): until all of them are settled, and then throws what the first of
// them, in this order, has failed with. It is counted on the host: no stream waits for another one.
// A future is taken as its completion; when_all of futures that are given away gives their values
// (weir/completion/when_all_values.hpp).
//
// co_await when_any(a, b, c): the number of the first that is settled, however it ended; the others
// are waited for no more.
//
// when_all(...).within(5ms), .by(deadline): bool; when_any(...).within(5ms): the optional number.
// stop_when() takes both, too. Any number of sets may have the same completion, and a set may be
// awaited several times. Where a list of completions has no room for the place of the call, the
// error names none. To suspend may fail as with a completion. Thread safety: as values.
template <class... C>
requires(sizeof...(C) != 0 && (detail::refers_to_completion<C> && ...))
    [[nodiscard]] auto when_all(C&&... all) {
  return detail::completion_set<std::array<completion, sizeof...(C)>, detail::wait_count::all>{
      {completion{all}...}, {}};
}
[[nodiscard]] inline auto when_all(std::span<const completion> all,
                                   call_site at = call_site::current()) {
  return detail::completion_set<std::vector<completion>, detail::wait_count::all>{
      {all.begin(), all.end()}, at};
}

template <class... C>
requires(sizeof...(C) != 0 && (detail::refers_to_completion<C> && ...))
    [[nodiscard]] auto when_any(C&&... any) {
  return detail::completion_set<std::array<completion, sizeof...(C)>, detail::wait_count::one>{
      {completion{any}...}, {}};
}
// Of none at all: refused (invalid_value).
[[nodiscard]] inline auto when_any(std::span<const completion> any,
                                   call_site at = call_site::current()) {
  detail::throw_if_when_any_is_empty(any.size(), at);
  return detail::completion_set<std::vector<completion>, detail::wait_count::one>{
      {any.begin(), any.end()}, at};
}

template <class Completions, detail::wait_count Count>
[[nodiscard]] auto stop_when(const detail::completion_set<Completions, Count>& set,
                             std::stop_token token) {
  return detail::make_stoppable<detail::completion_set_awaiter<Completions, Count, true>>(
      std::move(token), set, detail::forever, set.at);
}
template <class Completions, detail::wait_count Count, detail::duration_like Duration>
[[nodiscard]] auto stop_when(const detail::completion_set<Completions, Count>& set,
                             std::stop_token token, const Duration& timeout) {
  return detail::make_stoppable<detail::completion_set_awaiter<Completions, Count, true>>(
      std::move(token), set, detail::nanoseconds(timeout), set.at);
}

}  // namespace weir
