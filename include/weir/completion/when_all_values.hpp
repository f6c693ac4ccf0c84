// SPDX-License-Identifier: Apache-2.0
// weir/completion/when_all_values.hpp - several tasks or futures as one wait that returns all their
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

/// Starts tasks one after the other on the awaiting thread, and continues when the last of them has
/// ended.
class task_group {
 public:
  explicit task_group(std::size_t tasks) { members_.reserve(tasks); }
  task_group(const task_group&) = delete;
  task_group& operator=(const task_group&) = delete;

  /// Adds a task. Call it before the group is awaited. The task object must stay in place until all
  /// tasks have ended. Throws `closed` if the task was moved from or awaited before. add() checks
  /// this, since no task can be abandoned after the group has started the first one.
  template <class T>
  void add(task<T>& added) {
    const auto frame = std::move(added).operator co_await().frame;
    frame.promise().throw_if_started();
    constexpr auto start = [](std::coroutine_handle<> task_frame,
                              std::coroutine_handle<> awaiting) {
      using typed = std::coroutine_handle<typename task<T>::promise_type>;
      return typed::from_address(task_frame.address()).promise().start(task_frame, awaiting);
    };
    members_.push_back({frame, start,
                        callback_coroutine{[](void* group) noexcept {
                                             static_cast<task_group*>(group)->finish_member();
                                           },
                                           this}});
  }

  [[nodiscard]] bool await_ready() const noexcept { return members_.empty(); }
  [[nodiscard, gnu::noinline]] bool await_suspend(std::coroutine_handle<> awaiting) {
    awaiting_ = awaiting;
    pending_.store(members_.size() + 1, std::memory_order_relaxed);
    for (const member& started : members_) {
      if (!started.start(started.frame, started.on_end.handle()))
        pending_.fetch_sub(1, std::memory_order_acq_rel);
    }
    return pending_.fetch_sub(1, std::memory_order_acq_rel) != 1;
  }
  void await_resume() const noexcept {}

 private:
  struct member {
    std::coroutine_handle<> frame;
    /// task_promise::start(): returns false if the task has already ended.
    bool (*start)(std::coroutine_handle<> frame, std::coroutine_handle<> awaiting);
    callback_coroutine on_end;  ///< the task resumes it at its end; calls finish_member()
  };

  void finish_member() noexcept {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) awaiting_.resume();
  }

  std::vector<member> members_;
  std::coroutine_handle<> awaiting_;
  std::atomic<std::size_t> pending_{0};  ///< tasks that have not ended, + 1 while tasks are started
};

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

/// True for a future, not a reference to one, that has a value: when_all() moves the value out.
template <class Each>
inline constexpr bool yields_value = false;
template <class T>
inline constexpr bool yields_value<future<T>> = !std::is_void_v<T>;

/// Tasks mixed with completions or futures, which when_all() does not accept.
template <class... Each>
concept tasks_and_others = (is_task<std::remove_cvref_t<Each>> || ...) &&
                           (std::convertible_to<Each, completion> || ...) &&
                           ((is_task<std::remove_cvref_t<Each>> ||
                             std::convertible_to<Each, completion>)&&...);
/// Moved futures mixed with completions or lvalue futures, which when_all() does not accept.
template <class... Each>
concept values_and_others = (yields_value<Each> || ...) && !(yields_value<Each> && ...) &&
                            (std::convertible_to<Each, completion> && ...);

/// A tuple with the result of a task or a future; empty for void. `int` only keeps std::tuple<void>
/// from being formed.
template <class T>
using value_part = std::conditional_t<std::is_void_v<T>, std::tuple<>,
                                      std::tuple<std::conditional_t<std::is_void_v<T>, int, T>>>;
template <class... T>
using value_tuple = decltype(std::tuple_cat(std::declval<value_part<T>>()...));

/// Returns the result of a task that has ended, or throws its exception.
template <class T>
value_part<T> value_of(task<T>& ended) {
  if constexpr (std::is_void_v<T>) {
    std::move(ended).operator co_await().await_resume();
    return {};
  } else {
    return value_part<T>{std::move(ended).operator co_await().await_resume()};
  }
}
/// Moves the value out of a future whose work is done.
template <class T>
value_part<T> value_of(future<T>& ended) {
  if constexpr (std::is_void_v<T>) {
    return {};
  } else {
    return value_part<T>{take_value(ended)};
  }
}

/// Moves the results out in the order of the arguments, so that the first error in this order is
/// thrown. The braced initialisation guarantees the order.
template <class... Each>
auto values_of(Each&... ended) {
  return std::apply([](auto&&... parts) { return std::tuple_cat(std::move(parts)...); },
                    std::tuple<decltype(value_of(ended))...>{value_of(ended)...});
}

/// The type of a list of results of type T; void for void.
template <class T>
using value_list = std::conditional_t<std::is_void_v<T>, void,
                                      std::vector<std::conditional_t<std::is_void_v<T>, int, T>>>;

/// Like values_of(), for a list of tasks or of futures.
template <template <class> class Source, class T>
value_list<T> values_of_list(std::vector<Source<T>>& ended) {
  if constexpr (std::is_void_v<T>) {
    for (Source<T>& each : ended) value_of(each);
  } else {
    std::vector<T> values;
    values.reserve(ended.size());
    for (Source<T>& each : ended) values.push_back(std::get<0>(value_of(each)));
    return values;
  }
}

template <class T>
task<value_list<T>> all_of(std::vector<task<T>> tasks) {
  task_group group{tasks.size()};
  for (task<T>& member : tasks) group.add(member);
  co_await group;
  co_return values_of_list(tasks);
}

template <class T>
std::vector<completion> completions_of(const std::vector<future<T>>& futures, const char* call,
                                       call_site at = {}) {
  std::vector<completion> ends;
  ends.reserve(futures.size());
  for (const future<T>& source : futures) ends.push_back(completion_of(source, call, at));
  return ends;
}

template <class T>
task<value_list<T>> all_of(std::vector<future<T>> futures) {
  co_await when_all(completions_of(futures, "weir::when_all"));
  co_return values_of_list(futures);
}

}  // namespace detail

/// co_await when_all(f(), g()): starts all tasks on the calling thread, one after the other, each
/// up to its first suspension. The awaiting coroutine continues when all tasks have ended, on the
/// thread on which the last task ends. Returns a tuple of the results, without those of type void.
///
/// Throws: the first exception in the order of the arguments, after all tasks have ended.
template <class... T>
requires(sizeof...(T) != 0) task<detail::value_tuple<T...>> when_all(task<T>... all) {
  detail::task_group group{sizeof...(T)};
  (group.add(all), ...);
  co_await group;
  co_return detail::values_of(all...);
}

/// Like when_all() of tasks, for a list of tasks. Returns a vector of their results.
///
/// Throws: the first exception in the order of the list, after all tasks have ended.
template <class T>
requires(!std::is_reference_v<T>) [[nodiscard]] auto when_all(std::vector<task<T>>&& all) {
  return detail::all_of(std::move(all));
}

// The following overloads are deleted. Tasks must be moved: when_all(std::move(a), std::move(b)).
// To combine tasks with a completion, wrap the completion in a task: [](weir::completion c) ->
// weir::task<> { co_await c; }(c). when_any() accepts no tasks, because a started task must end
// before it can be destroyed.
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

/// co_await when_all(std::move(a), std::move(b)): suspends until the work of all futures is done,
/// and returns a tuple of their values. Futures passed as lvalues count as their completions
/// (weir/completion/when.hpp).
///
/// Throws: the first error in the order of the arguments; `closed` for a future without a value.
template <class... T>
requires(sizeof...(T) != 0 &&
         !(std::is_void_v<T> && ...)) task<detail::value_tuple<T...>> when_all(future<T>&&... all) {
  return [](future<T>... futures) -> task<detail::value_tuple<T...>> {
    co_await when_all(detail::completion_of(futures, "weir::when_all", {})...);
    co_return detail::values_of(futures...);
  }(std::move(all)...);
}
/// Like when_all() of moved futures, for a list of futures. Returns a vector of the values.
///
/// Throws: the first error in the order of the list; `closed` for a future without a value.
template <class T>
[[nodiscard]] auto when_all(std::vector<future<T>>&& all) {
  return detail::all_of(std::move(all));
}
// The following overloads are deleted. All futures have to be moved, or none. Pass a future as an
// lvalue to combine it with completions. when_any() accepts no moved futures, because the values of
// the others would be lost.
template <class... Each>
requires detail::values_and_others<Each...>
void when_all(Each&&... only_futures_given_away_or_none) = delete;
template <class... Each>
requires(detail::values_and_others<Each...> || (detail::yields_value<Each> && ...)) &&
    (sizeof...(Each) != 0) void when_any(Each&&... values_would_be_lost) = delete;
/// co_await when_all(list): suspends until the work of all futures in the list is done. The values
/// stay in the futures.
///
/// Throws: `closed` for a future without a value; else as when_all() of completions.
template <class T>
[[nodiscard]] auto when_all(const std::vector<future<T>>& all,
                            call_site at = call_site::current()) {
  return when_all(detail::completions_of(all, "weir::when_all", at), at);
}
/// co_await when_any(list): suspends until the work of the first future in the list is done, and
/// returns the index of that future. The values stay in the futures.
///
/// Throws: `closed` for a future without a value; `invalid_value` if the list is empty.
template <class T>
[[nodiscard]] auto when_any(const std::vector<future<T>>& any,
                            call_site at = call_site::current()) {
  return when_any(detail::completions_of(any, "weir::when_any", at), at);
}

}  // namespace weir
