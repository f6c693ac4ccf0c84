// weir/completion/stop.hpp - waits that end on request: the wait, and never the work.
#pragma once

#include <weir/detail/awaited_by.hpp>
#include <weir/core/call_site.hpp>
#include <weir/completion/completion.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/joint_wait.hpp>

#include <coroutine>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

namespace weir {

// How a wait with an end has ended.
enum class awaited : unsigned char {
  done,     // the work is
  late,     // the time passed first
  stopped,  // somebody asked for it first
};

namespace detail {

// A wait that a token ends, too.
template <class Wait>
class stoppable : public Wait {
 public:
  template <class What>
  stoppable(std::stop_token token, const What& what, long long limit, call_site at)
      : Wait{what, limit, at}, token_{std::move(token)} {}

  [[nodiscard]] bool await_ready() noexcept {
    if (token_.stop_requested()) this->stop_if_pending();
    return Wait::await_ready();
  }
  [[nodiscard, gnu::noinline]] bool await_suspend(std::coroutine_handle<> awaiting) {
    callback_.emplace(token_, stopper{this});
    return Wait::await_suspend(awaiting);
  }
  // awaited; of what tells which one, that, or nothing.
  auto await_resume() {
    callback_.reset();  // waits for one that is under way
    if constexpr (std::is_same_v<decltype(Wait::await_resume()), bool>) {
      if (this->how() == joint_end::stopped) return awaited::stopped;
      return Wait::await_resume() ? awaited::done : awaited::late;
    } else {
      return Wait::await_resume();
    }
  }

 private:
  struct stopper {
    joint_wait* of;
    void operator()() const noexcept { of->stop(); }
  };

  std::stop_token token_;
  std::optional<std::stop_callback<stopper>> callback_;
};

template <class Wait, class What>
auto stop_when_of(std::stop_token token, const What& what, long long limit, call_site at) {
  return awaited_by<stoppable<Wait>, std::stop_token, What, long long, call_site>{std::move(token), what, limit, at};
}

}  // namespace detail

// co_await stop_when(c, token), stop_when(c, token, 5ms): weir::awaited. The coroutine goes on when the work is done, a
// stop is requested, or the time has passed, whichever is first; of what has happened before the await, the first in this order. The
// work goes on in any case. Throws what the work failed with, and what an await may that has to suspend
// (weir/completion/completion.hpp). The coroutine is not resumed inside of request_stop(). In place of a completion it takes when_all()
// of completions, and when_any(), where it gives the optional number of the first one (weir/completion/when.hpp).
[[nodiscard]] inline auto stop_when(const completion& c, std::stop_token token, call_site at = call_site::current()) {
  return detail::stop_when_of<detail::limited_awaiter>(std::move(token), c, detail::forever, at);
}
template <detail::duration_like Duration>
[[nodiscard]] auto stop_when(const completion& c, std::stop_token token, const Duration& timeout,
                             call_site at = call_site::current()) {
  return detail::stop_when_of<detail::limited_awaiter>(std::move(token), c, detail::nanoseconds(timeout), at);
}

}  // namespace weir
