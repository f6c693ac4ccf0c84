// weir/completion/stop.hpp - waits that end on request: the wait, and never the work.
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

// How a wait with an end has ended.
enum class wait_status : unsigned char {
  done,       // the work is
  timed_out,  // the time passed first
  stopped,    // somebody asked for it first
};

namespace detail {

// A wait that a token ends, too.
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
  [[nodiscard, gnu::noinline]] bool await_suspend(std::coroutine_handle<> awaiting) {
    callback_.emplace(token_, stopper{this});
    return Wait::await_suspend(awaiting);
  }
  // awaited; of what tells which one, that, or nothing.
  auto await_resume() {
    callback_.reset();  // waits for one that is under way
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

// co_await stop_when(c, token), stop_when(c, token, 5ms): weir::wait_status. The coroutine goes on
// when the work is done, a stop is requested, or the time has passed, whichever is first; of what
// has happened before the await, the first in this order. The work goes on in any case. Throws what
// the work failed with, and what an await may that has to suspend (weir/completion/completion.hpp).
// The coroutine is not resumed inside of request_stop(). In place of a completion it takes
// when_all() of completions, and when_any(), where it gives the optional number of the first one
// (weir/completion/when.hpp).
[[nodiscard]] inline auto stop_when(const completion& c, std::stop_token token,
                                    call_site at = call_site::current()) {
  return detail::make_stoppable<detail::timed_awaiter>(std::move(token), c, detail::forever, at);
}
template <detail::duration_like Duration>
[[nodiscard]] auto stop_when(const completion& c, std::stop_token token, const Duration& timeout,
                             call_site at = call_site::current()) {
  return detail::make_stoppable<detail::timed_awaiter>(std::move(token), c,
                                                       detail::nanoseconds(timeout), at);
}

}  // namespace weir
