// weir/completion/future.hpp - a value that is there when the work of a stream is done.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/completion/task.hpp>
#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/completion_awaiter.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/detail/duration.hpp>
#include <weir/detail/export.hpp>
#include <weir/stream/stream.hpp>

#include <concepts>
#include <coroutine>
#include <memory>
#include <type_traits>
#include <utility>

namespace weir {
namespace detail {

template <class T>
concept value_type = !std::is_void_v<T>;

// A value, and the end of the work that it is kept for.
struct future_state : completion_waiter {
  completion end;
  void (*destroy)(future_state& self) noexcept = nullptr;
};

template <class T>
struct future_value final : future_state {
  template <class F>
  explicit future_value(F&& make) : value(std::forward<F>(make)()) {
    destroy = [](future_state& self) noexcept { delete static_cast<future_value*>(&self); };
  }
  T value;
};

// Nobody will ask for it any more: it is destroyed when the work is done, by a thread of the
// reactor's.
WEIR_EXPORT void destroy_when_done(future_state& state) noexcept;

struct future_deleter {
  void operator()(future_state* state) const noexcept { destroy_when_done(*state); }
};

// Throws closed: it was moved from, or has given its value away.
[[noreturn]] WEIR_EXPORT void throw_used_future(const char* call, call_site at);

// Refuses a stream that captures, and sees to it that noting the end of its work needs nothing more
// that can be refused.
WEIR_EXPORT void prepare_enqueue(stream_ref stream, call_site at);

// The end of the work that f has queued. If it cannot be told, the thread waits for it, and throws.
[[nodiscard]] WEIR_EXPORT completion completion_of_enqueued(stream_ref stream, call_site at);

template <class F>
decltype(auto) call_with(F&& f, stream_ref stream) {
  if constexpr (std::invocable<F, stream_ref>) {
    return std::forward<F>(f)(stream);
  } else {
    return std::forward<F>(f)();
  }
}

}  // namespace detail

// What stream.enqueue_async(f) gives: the value that f has returned, at the end of the work that it
// has queued. The value stays where it is until then, whatever becomes of the future: buffers and
// memory of the host that the work uses can be part of it. To drop a future cancels nothing and
// blocks nothing. f must not close the stream, nor leave it in a capture: nobody can wait for the
// end of the work then, and enqueue_async() throws and destroys what f has returned. If the end
// cannot be noted for another reason it waits for the stream first. What f itself throws comes out
// of enqueue_async(), which waits for nothing: what f has queued by then runs, and the memory for
// that must not be f's own alone.
//
// Move-only. co_await std::move(f) and std::move(f).get() give the value away, co_await f and
// f.get() a reference to it; both throw what the work has failed with, and then, or if the value's
// move throws, it stays. One that was moved from, or has given its value away, answers closed.
// While it is awaited it stays alive, as a temporary in a co_await does. In captures of other
// streams, in host functions, in the child of a fork, and in the calls that it makes of the driver
// it is as its completion; a value that is dropped in such a child is destroyed at once. Thread
// safety: as any object; its completion goes anywhere.
template <class T>
class [[nodiscard]] future {
 public:
  future(future&&) noexcept = default;
  future& operator=(future&&) noexcept = default;

  // Has it a value still, there by now or not?
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

  // The end of the work; outlives the future. The conversion lets a future stand wherever a
  // completion does.
  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const {
    return state("weir::future::completion", at).end;
  }
  operator weir::completion() const { return completion(call_site{}); }

  // As those of the completion.
  [[nodiscard]] bool done(call_site at = call_site::current()) const {
    return state("weir::future::done", at).end.done(at);
  }
  [[nodiscard]] errc status(call_site at = call_site::current()) const {
    return state("weir::future::status", at).end.status();
  }
  void wait(call_site at = call_site::current()) const {
    state("weir::future::wait", at).end.wait(at);
  }
  template <detail::duration_like Duration>
  [[nodiscard]] bool wait_for(const Duration& timeout, call_site at = call_site::current()) const {
    return state("weir::future::wait_for", at).end.wait_for(timeout, at);
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool wait_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return state("weir::future::wait_until", at).end.wait_until(deadline, at);
  }

  // co_await f.within(5ms), f.by(deadline), f.outcome(): as those of the completion. The value
  // stays where it is.
  template <detail::duration_like Duration>
  [[nodiscard]] auto within(const Duration& timeout, call_site at = call_site::current()) const {
    return state("weir::future::within", at).end.within(timeout, at);
  }
  template <detail::time_point_like TimePoint>
  [[nodiscard]] auto by(const TimePoint& deadline, call_site at = call_site::current()) const {
    return state("weir::future::by", at).end.by(deadline, at);
  }
  [[nodiscard]] auto outcome(call_site at = call_site::current()) const {
    return state("weir::future::outcome", at).end.outcome();
  }

  // Blocks until then, as wait() does.
  T& get(call_site at = call_site::current()) & {
    state("weir::future::get", at).end.wait(at);
    return value("weir::future::get", at);
  }
  T get(call_site at = call_site::current()) && {
    state("weir::future::get", at).end.wait(at);
    return take("weir::future::get", at);
  }

  [[nodiscard]] auto operator co_await() & {
    struct awaiter : detail::completion_awaiter {
      explicit awaiter(future& f) : completion_awaiter{f.state(await_call, {}).end}, owner{f} {}
      T& await_resume() const {
        completion_awaiter::await_resume();
        return owner.value(await_call, {});
      }
      future& owner;
    };
    return awaiter{*this};
  }
  [[nodiscard]] auto operator co_await() && {
    struct awaiter : detail::completion_awaiter {
      explicit awaiter(future& f) : completion_awaiter{f.state(await_call, {}).end}, owner{f} {}
      T await_resume() const {
        completion_awaiter::await_resume();
        return owner.take(await_call, {});
      }
      future& owner;
    };
    return awaiter{*this};
  }

 private:
  friend class stream_ref;
  static constexpr const char* await_call = "co_await weir::future";
  explicit future(detail::future_value<T>* state) noexcept : state_{state} {}

  [[nodiscard]] detail::future_state& state(const char* call, call_site at) const {
    if (!state_) detail::throw_used_future(call, at);
    return *state_;
  }
  // Somebody else may have taken it while this one waited.
  [[nodiscard]] T& value(const char* call, call_site at) const {
    return static_cast<detail::future_value<T>&>(state(call, at)).value;
  }
  [[nodiscard]] T take(const char* call, call_site at) {
    T result(std::move(
        value(call, at)));  // if that throws it stays; no list of one, as braces might make it
    delete static_cast<detail::future_value<T>*>(state_.release());
    return result;
  }

  std::unique_ptr<detail::future_state, detail::future_deleter> state_;
};

namespace detail {

// The end of the work, for a call that is given the future.
template <class T>
completion completion_of(const future<T>& one, const char* call, call_site at) {
  if constexpr (std::is_void_v<T>) {
    return one;
  } else {
    if (!one.valid()) throw_used_future(call, at);
    return one.completion(at);
  }
}

// The value of one that is done. Its get() would be a wait, which the calling thread may be
// forbidden.
template <class T>
T take_value(future<T>& ended) {
  auto end = std::move(ended).operator co_await();
  static_cast<void>(end.await_ready());
  return end.await_resume();
}

}  // namespace detail

// Of work without a value: the end of it, and nothing else. It is a completion: it may be copied
// and awaited any number of times, and is of nothing, which is done, where it was made of none.
template <>
class [[nodiscard]] future<void> : public completion {
 public:
  future() noexcept = default;
  explicit future(const weir::completion& end) noexcept : weir::completion{end} {}

  [[nodiscard]] weir::completion completion() const noexcept { return *this; }
  void get(call_site at = call_site::current()) const { wait(at); }
};

template <class F>
auto stream_ref::enqueue_async(F&& f, call_site at) const {
  using value = decltype(detail::call_with(std::forward<F>(f), *this));
  static_assert(!std::is_reference_v<value>,
                "what f returns is kept: give a value, or std::ref of it");
  detail::prepare_enqueue(*this, at);
  if constexpr (std::is_void_v<value>) {
    detail::call_with(std::forward<F>(f), *this);
    return future<void>{detail::completion_of_enqueued(*this, at)};
  } else {
    auto state = std::make_unique<detail::future_value<value>>(
        [&]() -> value { return detail::call_with(std::forward<F>(f), *this); });
    state->end = detail::completion_of_enqueued(*this, at);
    return future<value>{state.release()};
  }
}

template <class F>
auto stream::enqueue_async(F&& f, call_site at) const {
  return ref().enqueue_async(std::forward<F>(f), at);
}

}  // namespace weir
