// weir/completion/when_all_values.hpp - several tasks or futures as one wait that gives all their
// values.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/completion/task.hpp>
#include <weir/completion/when.hpp>
#include <weir/core/call_site.hpp>
#include <weir/detail/callback_coroutine.hpp>

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace weir {
namespace detail {

// Begins tasks, one after the other, on the thread that awaits it, and goes on when the last of
// them has ended.
class task_group {
 public:
  explicit task_group(std::size_t tasks) { members_.reserve(tasks); }
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  // Whose owner stays where it is until they have all ended. Throws closed if there is nothing to
  // begin: that is found out before any of them has begun, as those that have cannot be left alone.
  template <class T>
  void add(task<T>& one) {
    const auto frame = std::move(one).operator co_await().frame;
    frame.promise().throw_if_started();
    constexpr auto start = [](std::coroutine_handle<> task_frame,
                              std::coroutine_handle<> awaiting) {
      using typed = std::coroutine_handle<typename task<T>::promise_type>;
      return typed::from_address(task_frame.address()).promise().start(task_frame, awaiting);
    };
    members_.push_back(
        {frame, start,
         callback_coroutine{
             [](void* group) noexcept { static_cast<task_group*>(group)->finish_one(); }, this}});
  }

  [[nodiscard]] bool await_ready() const noexcept { return members_.empty(); }
  [[nodiscard, gnu::noinline]] bool await_suspend(std::coroutine_handle<> awaiting) {
    awaiting_ = awaiting;
    pending_.store(members_.size() + 1, std::memory_order_relaxed);
    for (const member& one : members_) {
      if (!one.start(one.frame, one.on_end.handle()))
        pending_.fetch_sub(1, std::memory_order_acq_rel);
    }
    return pending_.fetch_sub(1, std::memory_order_acq_rel) != 1;
  }
  void await_resume() const noexcept {}

 private:
  struct member {
    std::coroutine_handle<> frame;
    bool (*start)(std::coroutine_handle<> frame, std::coroutine_handle<> awaiting);
    callback_coroutine on_end;
  };

  void finish_one() noexcept {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) awaiting_.resume();
  }

  std::vector<member> members_;
  std::coroutine_handle<> awaiting_;
  std::atomic<std::size_t> pending_{0};
};

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

// A future with a value that is given away.
template <class Each>
inline constexpr bool yields_value = false;
template <class T>
inline constexpr bool yields_value<future<T>> = !std::is_void_v<T>;

template <class... Each>
concept tasks_and_others = (is_task<std::remove_cvref_t<Each>> || ...) &&
                           (std::convertible_to<Each, completion> || ...) &&
                           ((is_task<std::remove_cvref_t<Each>> ||
                             std::convertible_to<Each, completion>)&&...);
template <class... Each>
concept values_and_others = (yields_value<Each> || ...) && !(yields_value<Each> && ...) &&
                            (std::convertible_to<Each, completion> && ...);

// What a task or a future gives, as a part of a tuple; void has no place in it.
template <class T>
using value_part = std::conditional_t<std::is_void_v<T>, std::tuple<>,
                                      std::tuple<std::conditional_t<std::is_void_v<T>, int, T>>>;
template <class... T>
using value_tuple = decltype(std::tuple_cat(std::declval<value_part<T>>()...));

template <class T>
value_part<T> value_of(task<T>& ended) {
  if constexpr (std::is_void_v<T>) {
    std::move(ended).operator co_await().await_resume();
    return {};
  } else {
    return value_part<T>{std::move(ended).operator co_await().await_resume()};
  }
}
template <class T>
value_part<T> value_of(future<T>& ended) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return value_part<T>{take_value(ended)};
  }
}

// In the order in which they are given, as a braced list has it, so that the first that has failed
// throws.
template <class... Each>
auto values_of(Each&... ended) {
  return std::apply([](auto&&... parts) { return std::tuple_cat(std::move(parts)...); },
                    std::tuple<decltype(value_of(ended))...>{value_of(ended)...});
}

template <class T>
using value_list = std::conditional_t<std::is_void_v<T>, void,
                                      std::vector<std::conditional_t<std::is_void_v<T>, int, T>>>;

template <class T>
task<value_list<T>> all_of(std::vector<task<T>> all) {
  task_group group{all.size()};
  for (task<T>& one : all) group.add(one);
  co_await group;
  if constexpr (std::is_void_v<T>) {
    for (task<T>& one : all) value_of(one);
  } else {
    std::vector<T> values;
    values.reserve(all.size());
    for (task<T>& one : all) values.push_back(std::get<0>(value_of(one)));
    co_return values;
  }
}

template <class T>
std::vector<completion> completions_of(const std::vector<future<T>>& all, const char* call,
                                       call_site at = {}) {
  std::vector<completion> ends;
  ends.reserve(all.size());
  for (const future<T>& one : all) ends.push_back(completion_of(one, call, at));
  return ends;
}

template <class T>
task<value_list<T>> all_of(std::vector<future<T>> all) {
  co_await when_all(completions_of(all, "weir::when_all"));
  if constexpr (!std::is_void_v<T>) {
    std::vector<T> values;
    values.reserve(all.size());
    for (future<T>& one : all) values.push_back(take_value(one));
    co_return values;
  }
}

}  // namespace detail

// co_await when_all(f(), g()): begins both on this thread, one after the other, up to where each
// suspends; goes on when both have ended, where the last one did; gives a tuple of what they give,
// without those that give nothing. If some throw it throws what the first of them in this order has
// thrown, when all have ended.
template <class... T>
requires(sizeof...(T) != 0) task<detail::value_tuple<T...>> when_all(task<T>... all) {
  detail::task_group group{sizeof...(T)};
  (group.add(all), ...);
  co_await group;
  co_return detail::values_of(all...);
}

// The same of any number: a vector of what they give.
template <class T>
requires(!std::is_reference_v<T>) [[nodiscard]] auto when_all(std::vector<task<T>>&& all) {
  return detail::all_of(std::move(all));
}

// Tasks are given away: when_all(std::move(a), std::move(b)). Beside completions a task awaits one:
// [](weir::completion c) -> weir::task<> { co_await c; }(c). There is no first one of tasks, as the
// others could not be left alone.
template <class T>
void when_all(const std::vector<task<T>>& needs_std_move) = delete;
template <class... Each>
requires detail::tasks_and_others<Each...>
void when_all(Each&&... only_tasks_or_none) = delete;
template <class... T>
requires(sizeof...(T) != 0) void when_any(task<T>... tasks_cannot_be_left_alone) = delete;
template <class... Each>
requires detail::tasks_and_others<Each...>
void when_any(Each&&... tasks_cannot_be_left_alone) = delete;
template <class T>
void when_any(const std::vector<task<T>>& tasks_cannot_be_left_alone) = delete;

// co_await when_all(std::move(a), std::move(b)): the values of futures, when the work of all is
// done. Futures that stay what they are count as their completions (weir/completion/when.hpp).
template <class... T>
requires(sizeof...(T) != 0 &&
         !(std::is_void_v<T> && ...)) task<detail::value_tuple<T...>> when_all(future<T>&&... all) {
  return [](future<T>... futures) -> task<detail::value_tuple<T...>> {
    co_await when_all(detail::completion_of(futures, "weir::when_all", {})...);
    co_return detail::values_of(futures...);
  }(std::move(all)...);
}
// The same of any number: a vector of the values.
template <class T>
[[nodiscard]] auto when_all(std::vector<future<T>>&& all) {
  return detail::all_of(std::move(all));
}
// Either the values of all futures or those of none: beside completions a future counts as its own
// if it stays what it is.
template <class... Each>
requires detail::values_and_others<Each...>
void when_all(Each&&... only_futures_given_away_or_none) = delete;
template <class... Each>
requires(detail::values_and_others<Each...> || (detail::yields_value<Each> && ...)) &&
    (sizeof...(Each) != 0) void when_any(Each&&... values_would_be_lost) = delete;
// Of futures that stay what they are: as of their completions. An empty one is refused (closed),
// any of none too (invalid_value).
template <class T>
[[nodiscard]] auto when_all(const std::vector<future<T>>& all,
                            call_site at = call_site::current()) {
  return when_all(detail::completions_of(all, "weir::when_all", at), at);
}
template <class T>
[[nodiscard]] auto when_any(const std::vector<future<T>>& any,
                            call_site at = call_site::current()) {
  return when_any(detail::completions_of(any, "weir::when_any", at), at);
}

}  // namespace weir
