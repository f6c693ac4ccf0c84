// SPDX-License-Identifier: Apache-2.0
// weir/completion/when.hpp - several completions as one wait: for all of them, or for the first.
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

/// Throws `invalid_value` if `completions` is 0, since an empty list has no first completion.
WEIR_EXPORT void throw_if_when_any_is_empty(std::size_t completions, call_site at);

/// Returns one wait_item for each completion of a list.
template <std::size_t N>
std::array<wait_item, N> wait_items_for(const std::array<completion, N>&) {
  return {};
}
inline std::vector<wait_item> wait_items_for(const std::vector<completion>& list) {
  return std::vector<wait_item>(list.size());
}

template <class Completions, wait_count Count>
struct completion_set;

/// Waits for a list of completions. With HasTimeout, the result is false or an empty optional if
/// the timeout passed or a stop was requested.
template <class Completions, wait_count Count, bool HasTimeout>
class completion_set_awaiter : public composite_wait {
 public:
  completion_set_awaiter(const completion_set<Completions, Count>& set, long long timeout,
                         call_site at)
      : composite_wait{Count, timeout}, items_(wait_items_for(set.completions)), at_{at} {
    for (std::size_t i = 0; i != items_.size(); ++i) set_item(items_[i], set.completions[i]);
  }

  [[nodiscard]] bool await_ready() noexcept { return try_complete(items_); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) {
    return start(items_, awaiting);
  }
  auto await_resume() const {
    if constexpr (Count == wait_count::one && HasTimeout) {
      return result() == wait_result::done ? std::optional{first()} : std::nullopt;
    } else if constexpr (Count == wait_count::one) {
      return first();
    } else if constexpr (HasTimeout) {
      if (result() != wait_result::done) return false;
      throw_failure(items_, at_);
      return true;
    } else {
      throw_failure(items_, at_);
    }
  }

 private:
  decltype(wait_items_for(std::declval<const Completions&>())) items_;
  call_site at_;
};

/// The result of when_all() and when_any() of completions: a list that can be awaited.
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
  [[nodiscard]] auto until(const TimePoint& deadline) const {
    using awaiter_type =
        deadline_awaiter<completion_set_awaiter<Completions, Count, true>, TimePoint>;
    return awaitable_of<awaiter_type, completion_set, TimePoint, call_site>{*this, deadline, at};
  }

  Completions completions;
  call_site at;
};

/// A completion, or an lvalue that converts to a completion, such as a future. A moved future does
/// not match, because its value would be lost.
template <class C>
concept refers_to_completion = std::convertible_to < const std::remove_cvref_t<C>
&, completion >
       &&(std::is_lvalue_reference_v<C> || std::derived_from<std::remove_cvref_t<C>, completion>);

}  // namespace detail

/// co_await when_all(a, b, c): suspends until all completions are done. The host counts the
/// completions; no stream waits for another stream.
///
/// A future counts as its completion; when_all() of moved futures returns their values
/// (weir/completion/when_all_values.hpp). when_all(...).within(5ms) and .until(deadline) return
/// false on timeout. stop_when() accepts the result of when_all(), too. A completion may be an
/// argument of any number of such calls, and a result may be awaited several times.
///
/// Throws: the first error in the order of the arguments, after all completions are done. The error
/// names no call site. Suspending may throw as for a completion.
/// Thread safety: the result is a value; use copies in several threads.
template <class... C>
requires(sizeof...(C) != 0 && (detail::refers_to_completion<C> && ...))
    [[nodiscard]] auto when_all(C&&... all) {
  return detail::completion_set<std::array<completion, sizeof...(C)>, detail::wait_count::all>{
      {completion{all}...}, {}};
}
/// Like when_all(a, b, c), for a list of completions. An error names the call site of this call.
[[nodiscard]] inline auto when_all(std::span<const completion> all,
                                   call_site at = call_site::current()) {
  return detail::completion_set<std::vector<completion>, detail::wait_count::all>{
      {all.begin(), all.end()}, at};
}

/// co_await when_any(a, b, c): suspends until the first completion is done, successfully or not,
/// and returns the index of that completion in the list of arguments, from 0. The await does not
/// wait for the other completions.
///
/// when_any(...).within(5ms) and .until(deadline) return an optional index, empty on timeout.
/// stop_when() accepts the result of when_any(), too.
///
/// Throws: no error of the work. Suspending may throw as for a completion.
template <class... C>
requires(sizeof...(C) != 0 && (detail::refers_to_completion<C> && ...))
    [[nodiscard]] auto when_any(C&&... any) {
  return detail::completion_set<std::array<completion, sizeof...(C)>, detail::wait_count::one>{
      {completion{any}...}, {}};
}
/// Like when_any(a, b, c), for a list of completions.
///
/// Throws: `invalid_value` if the list is empty.
[[nodiscard]] inline auto when_any(std::span<const completion> any,
                                   call_site at = call_site::current()) {
  detail::throw_if_when_any_is_empty(any.size(), at);
  return detail::completion_set<std::vector<completion>, detail::wait_count::one>{
      {any.begin(), any.end()}, at};
}

/// co_await stop_when(when_all(a, b), token): like co_await when_all(a, b), but a stop request also
/// ends the wait. `set` is the result of when_all() or when_any() of completions. Returns a
/// wait_status for when_all(). For when_any(), returns an optional index of the first completion
/// that is done, empty after a stop.
///
/// Throws: as co_await set.
template <class Completions, detail::wait_count Count>
[[nodiscard]] auto stop_when(const detail::completion_set<Completions, Count>& set,
                             std::stop_token token) {
  return detail::make_stoppable<detail::completion_set_awaiter<Completions, Count, true>>(
      std::move(token), set, detail::forever, set.at);
}
/// Like stop_when(set, token), but the wait also ends after `timeout`; an optional index is then
/// empty.
///
/// Throws: as co_await set.
template <class Completions, detail::wait_count Count, detail::duration_like Duration>
[[nodiscard]] auto stop_when(const detail::completion_set<Completions, Count>& set,
                             std::stop_token token, const Duration& timeout) {
  return detail::make_stoppable<detail::completion_set_awaiter<Completions, Count, true>>(
      std::move(token), set, detail::nanoseconds(timeout), set.at);
}

}  // namespace weir
