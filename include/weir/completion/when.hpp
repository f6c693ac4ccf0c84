// weir/completion/when.hpp - several completions as one wait: all of them, or the first.
#pragma once

#include <weir/detail/awaited_by.hpp>
#include <weir/core/call_site.hpp>
#include <weir/completion/completion.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>
#include <weir/detail/joint_wait.hpp>
#include <weir/completion/stop.hpp>

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
WEIR_EXPORT void refuse_any_of_nothing(std::size_t completions, call_site at);

template <class Completions>
struct joint_points;
template <std::size_t N>
struct joint_points<std::array<completion, N>> {
  explicit joint_points(const std::array<completion, N>&) {}
  std::array<joint_point, N> points;
};
template <>
struct joint_points<std::vector<completion>> {
  explicit joint_points(const std::vector<completion>& of) : points(of.size()) {}
  std::vector<joint_point> points;
};

template <class Completions, enough Many>
struct completion_set;

// With an end it tells whether that has come: false, or nothing.
template <class Completions, enough Many, bool Ends>
class set_awaiter : public joint_wait {
 public:
  set_awaiter(const completion_set<Completions, Many>& of, long long limit, call_site at)
      : joint_wait{Many, limit}, waiting_{of.completions}, at_{at} {
    for (std::size_t i = 0; i != waiting_.points.size(); ++i) set(waiting_.points[i], of.completions[i]);
  }

  [[nodiscard]] bool await_ready() noexcept { return over_already(waiting_.points); }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> awaiting) { return begin(waiting_.points, awaiting); }
  auto await_resume() const {
    if constexpr (Many == enough::one && Ends) {
      return how() == joint_end::done ? std::optional{first()} : std::nullopt;
    } else if constexpr (Many == enough::one) {
      return first();
    } else if constexpr (Ends) {
      if (how() != joint_end::done) return false;
      throw_failure(waiting_.points, at_);
      return true;
    } else {
      throw_failure(waiting_.points, at_);
    }
  }

 private:
  joint_points<Completions> waiting_;
  call_site at_;
};

// What when_all() and when_any() of completions give.
template <class Completions, enough Many>
struct completion_set {
  [[nodiscard]] auto operator co_await() const { return set_awaiter<Completions, Many, false>{*this, forever, at}; }
  template <duration_like Duration>
  [[nodiscard]] auto within(const Duration& timeout) const {
    return awaited_by<set_awaiter<Completions, Many, true>, completion_set, long long, call_site>{
        *this, nanoseconds(timeout), at};
  }
  template <time_point_like TimePoint>
  [[nodiscard]] auto by(const TimePoint& deadline) const {
    using ending = ending_by<set_awaiter<Completions, Many, true>, TimePoint>;
    return awaited_by<ending, completion_set, TimePoint, call_site>{*this, deadline, at};
  }

  Completions completions;
  call_site at;
};

// A completion, or what has one and stays.
template <class C>
concept names_completion = std::convertible_to < const std::remove_cvref_t<C>
&, completion > &&(std::is_lvalue_reference_v<C> || std::derived_from<std::remove_cvref_t<C>, completion>);

}  // namespace detail

// co_await when_all(a, b, c): until all of them are settled, and then throws what the first of them, in this order, has
// failed with. It is counted on the host: no stream waits for another one. A future is taken as its completion; when_all of
// futures that are given away gives their values (weir/completion/when_all_values.hpp).
//
// co_await when_any(a, b, c): the number of the first that is settled, however it ended; the others are waited for no more.
//
// when_all(...).within(5ms), .by(deadline): bool; when_any(...).within(5ms): the optional number. stop_when() takes both, too.
// Any number of sets may have the same completion, and a set may be awaited several times. Where a list of completions has
// no room for the place of the call, the error names none. To suspend may fail as with a completion. Thread safety: as values.
template <class... C>
requires(sizeof...(C) != 0 && (detail::names_completion<C> && ...)) [[nodiscard]] auto when_all(C&&... all) {
  return detail::completion_set<std::array<completion, sizeof...(C)>, detail::enough::all>{{completion{all}...}, {}};
}
[[nodiscard]] inline auto when_all(std::span<const completion> all, call_site at = call_site::current()) {
  return detail::completion_set<std::vector<completion>, detail::enough::all>{{all.begin(), all.end()}, at};
}

template <class... C>
requires(sizeof...(C) != 0 && (detail::names_completion<C> && ...)) [[nodiscard]] auto when_any(C&&... any) {
  return detail::completion_set<std::array<completion, sizeof...(C)>, detail::enough::one>{{completion{any}...}, {}};
}
// Of none at all: refused (invalid_value).
[[nodiscard]] inline auto when_any(std::span<const completion> any, call_site at = call_site::current()) {
  detail::refuse_any_of_nothing(any.size(), at);
  return detail::completion_set<std::vector<completion>, detail::enough::one>{{any.begin(), any.end()}, at};
}

template <class Completions, detail::enough Many>
[[nodiscard]] auto stop_when(const detail::completion_set<Completions, Many>& set, std::stop_token token) {
  return detail::stop_when_of<detail::set_awaiter<Completions, Many, true>>(std::move(token), set, detail::forever,
                                                                            set.at);
}
template <class Completions, detail::enough Many, detail::duration_like Duration>
[[nodiscard]] auto stop_when(const detail::completion_set<Completions, Many>& set, std::stop_token token,
                             const Duration& timeout) {
  return detail::stop_when_of<detail::set_awaiter<Completions, Many, true>>(std::move(token), set,
                                                                            detail::nanoseconds(timeout), set.at);
}

}  // namespace weir
