// SPDX-License-Identifier: Apache-2.0
// weir/completion/stop.hpp - waits that end on request. Only the wait ends, never the work.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/core/call_site.hpp>
#include <weir/detail/awaitable_of.hpp>
#include <weir/detail/composite_wait.hpp>
#include <weir/detail/duration.hpp>

#include <coroutine>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace weir {

/// Says how a wait has ended.
enum class wait_status : unsigned char {
  done,       ///< the work is done
  timed_out,  ///< the timeout passed first
  stopped,    ///< a stop was requested first
};

namespace detail {

/// Like the awaiter `Wait`, but a stop request also ends the wait.
template <class Wait>
class stoppable_awaiter : public Wait {
 public:
  template <class Source>
  stoppable_awaiter(std::stop_token token, const Source& source, long long timeout, call_site at)
      : Wait{source, timeout, at}, token_{std::move(token)} {}

  [[nodiscard]] bool await_ready() noexcept {
    if (token_.stop_requested()) this->set_stop_requested();
    return Wait::await_ready();
  }
  /// Registers the callback first: the coroutine may continue, and destroy this awaiter, before
  /// Wait::await_suspend() returns.
  [[nodiscard, gnu::noinline]] bool await_suspend(std::coroutine_handle<> awaiting) {
    callback_.emplace(token_, stopper{this});
    return Wait::await_suspend(awaiting);
  }
  /// Returns a wait_status if Wait::await_resume() returns a bool; otherwise what
  /// Wait::await_resume() returns.
  auto await_resume() {
    callback_.reset();  // waits for a callback that is running
    if constexpr (std::is_same_v<decltype(Wait::await_resume()), bool>) {
      if (this->result() == wait_result::stopped) return wait_status::stopped;
      return Wait::await_resume() ? wait_status::done : wait_status::timed_out;
    } else {
      return Wait::await_resume();
    }
  }

 private:
  struct stopper {
    composite_wait* wait;
    void operator()() const noexcept { wait->stop(); }
  };

  std::stop_token token_;
  std::optional<std::stop_callback<stopper>> callback_;
};

template <class Wait, class Source>
auto make_stoppable(std::stop_token token, const Source& source, long long timeout, call_site at) {
  return awaitable_of<stoppable_awaiter<Wait>, std::stop_token, Source, long long, call_site>{
      std::move(token), source, timeout, at};
}

}  // namespace detail

/// co_await stop_when(c, token): suspends until the work is done or a stop is requested, and
/// returns a wait_status. If the work was done and the stop was requested before the await, returns
/// `done`. A stop request does not end the work.
///
/// The coroutine is not resumed inside request_stop(). Instead of a completion, the results of
/// when_all() and when_any() of completions are accepted. With when_any(), the result is an
/// optional index of the first completion that is done, empty if the wait was stopped
/// (weir/completion/when.hpp).
///
/// Throws: as co_await c.
[[nodiscard]] inline auto stop_when(const completion& c, std::stop_token token,
                                    call_site at = call_site::current()) {
  return detail::make_stoppable<detail::timed_awaiter>(std::move(token), c, detail::forever, at);
}
/// co_await stop_when(c, token, 5ms): like stop_when() without a timeout, but also ends after
/// `timeout`. If several of these have happened before the await, the result is the first of done,
/// stopped and timed_out that applies.
///
/// Throws: as stop_when() without a timeout.
template <detail::duration_like Duration>
[[nodiscard]] auto stop_when(const completion& c, std::stop_token token, const Duration& timeout,
                             call_site at = call_site::current()) {
  return detail::make_stoppable<detail::timed_awaiter>(std::move(token), c,
                                                       detail::nanoseconds(timeout), at);
}

}  // namespace weir
