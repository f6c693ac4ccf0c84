// SPDX-License-Identifier: Apache-2.0
// weir/completion/future.hpp - a value that is available when the work of a stream is done.
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

/// The part of a future_value that does not depend on the type: the completion of the work, and the
/// function that deletes the object.
struct future_state : completion_waiter {
  completion end;
  void (*destroy)(future_state& self) noexcept = nullptr;
};

/// The value of a future on the heap: the result of `make`, constructed in place.
template <class T>
struct future_value final : future_state {
  template <class F>
  explicit future_value(F&& make) : value(std::forward<F>(make)()) {
    destroy = [](future_state& self) noexcept { delete static_cast<future_value*>(&self); };
  }
  T value;
};

/// Destroys the value when the work is done: on a reactor thread, or in this call if the work is
/// done already.
WEIR_EXPORT void destroy_when_done(future_state& state) noexcept;

struct future_deleter {
  void operator()(future_state* state) const noexcept { destroy_when_done(*state); }
};

/// Throws `closed` because the future was moved from or its value was taken.
[[noreturn]] WEIR_EXPORT void throw_used_future(const char* call, call_site at);

/// Called before f is called. Throws if the stream captures. Reserves what completion_of_enqueued()
/// needs, so that most failures are thrown before any work is queued.
WEIR_EXPORT void prepare_enqueue(stream_ref stream, call_site at);

/// Called after f was called. Returns the completion of the work that f has queued. If the end of
/// the work cannot be tracked, waits for the work and throws; does not wait if f left the stream
/// capturing.
[[nodiscard]] WEIR_EXPORT completion completion_of_enqueued(stream_ref stream, call_site at);

/// Returns f(stream), or f() if f takes no argument.
template <class F>
decltype(auto) call_with(F&& f, stream_ref stream) {
  if constexpr (std::invocable<F, stream_ref>) {
    return std::forward<F>(f)(stream);
  } else {
    return std::forward<F>(f)();
  }
}

}  // namespace detail

/// The result of stream.enqueue(f): the value that `f` returned, available when the work that `f`
/// queued is done.
///
/// The value stays in place until the work is done, even if the future is destroyed. It can
/// therefore own the buffers and host memory that the work uses. Destroying a future does not
/// block; the work continues.
/// `f` must not close the stream or leave it capturing. The end of the work could then not be
/// tracked, so enqueue() throws and destroys the value. If tracking fails for another reason,
/// enqueue() waits for the stream before it throws. If `f` throws, enqueue() passes the exception
/// on without any wait. The work that `f` has queued still runs, so the memory that the work uses
/// must not belong to `f` alone.
/// For a future `r`, co_await std::move(r) and std::move(r).get() move the value out; co_await r
/// and r.get() return a reference to the value. All of these throw the error of the work. The value
/// stays in the future if they throw, or if moving the value throws.
/// Move-only. A future that was moved from, or whose value was moved out, throws `closed`. A future
/// must exist while a coroutine awaits it; a temporary in a co_await expression does.
/// In a child process after fork: as its completion. Destroying a future there destroys its value
/// immediately.
///
/// In a capture: as its completion.
/// In a host function: as its completion.
/// Thread safety: needs exclusive access; its completion may be used from any thread.
/// Driver: as its completion.
template <class T>
class [[nodiscard]] future {
 public:
  future(future&&) noexcept = default;
  future& operator=(future&&) noexcept = default;

  /// Returns true unless the future was moved from or its value was moved out. Does not say that
  /// the work is done.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

  /// Returns the completion of the work. It may outlive the future.
  [[nodiscard]] weir::completion completion(call_site at = call_site::current()) const {
    return state("weir::future::completion", at).end;
  }
  /// Converts to the completion, so that a future can be used as one.
  operator weir::completion() const { return completion(call_site{}); }

  /// Returns true if the work is done. See completion::done().
  ///
  /// Throws: the error of the work; `closed` if the future has no value.
  [[nodiscard]] bool done(call_site at = call_site::current()) const {
    return state("weir::future::done", at).end.done(at);
  }
  /// Returns `success`, `not_ready`, or the error of the work. See completion::status().
  ///
  /// Throws: `closed` if the future has no value.
  [[nodiscard]] errc status(call_site at = call_site::current()) const {
    return state("weir::future::status", at).end.status();
  }
  /// Blocks the calling thread until the work is done. See completion::wait().
  ///
  /// Throws: as completion::wait(); `closed` if the future has no value.
  void wait(call_site at = call_site::current()) const {
    state("weir::future::wait", at).end.wait(at);
  }
  /// Like wait(), with a timeout. Returns false on timeout. See completion::wait_for().
  ///
  /// Throws: as wait().
  template <detail::duration_like Duration>
  [[nodiscard]] bool wait_for(const Duration& timeout, call_site at = call_site::current()) const {
    return state("weir::future::wait_for", at).end.wait_for(timeout, at);
  }
  /// Like wait(), with a deadline. Returns false if it passes first. See completion::wait_until().
  ///
  /// Throws: as wait().
  template <detail::time_point_like TimePoint>
  [[nodiscard]] bool wait_until(const TimePoint& deadline,
                                call_site at = call_site::current()) const {
    return state("weir::future::wait_until", at).end.wait_until(deadline, at);
  }

  /// co_await f.within(5ms): suspends until the work is done or `timeout` has passed; returns false
  /// on timeout. See completion::within(). The value stays in the future.
  ///
  /// Throws: as completion::within(); `closed` if the future has no value.
  template <detail::duration_like Duration>
  [[nodiscard]] auto within(const Duration& timeout, call_site at = call_site::current()) const {
    return state("weir::future::within", at).end.within(timeout, at);
  }
  /// co_await f.until(deadline): like within(), with a point in time. The value stays in the
  /// future.
  ///
  /// Throws: as completion::until(); `closed` if the future has no value.
  template <detail::time_point_like TimePoint>
  [[nodiscard]] auto until(const TimePoint& deadline, call_site at = call_site::current()) const {
    return state("weir::future::until", at).end.until(deadline, at);
  }
  /// co_await f.outcome(): suspends until the work is done, and returns `success` or the error of
  /// the work. See completion::outcome(). The value stays in the future.
  ///
  /// Throws: `closed` if the future has no value.
  [[nodiscard]] auto outcome(call_site at = call_site::current()) const {
    return state("weir::future::outcome", at).end.outcome();
  }

  /// Blocks like wait(), and returns a reference to the value.
  ///
  /// Throws: as wait(); `closed` if the future has no value.
  T& get(call_site at = call_site::current()) & {
    state("weir::future::get", at).end.wait(at);
    return value("weir::future::get", at);
  }
  /// Blocks like wait(), and moves the value out. If the move throws, the value stays.
  ///
  /// Throws: as wait(); `closed` if the future has no value.
  T get(call_site at = call_site::current()) && {
    state("weir::future::get", at).end.wait(at);
    return take_result("weir::future::get", at);
  }

  /// co_await f: suspends until the work is done, and returns a reference to the value.
  ///
  /// Throws: as co_await of a completion; `closed` if the future has no value.
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
  /// co_await std::move(f): suspends until the work is done, and moves the value out.
  ///
  /// Throws: as co_await of a completion; `closed` if the future has no value.
  [[nodiscard]] auto operator co_await() && {
    struct awaiter : detail::completion_awaiter {
      explicit awaiter(future& f) : completion_awaiter{f.state(await_call, {}).end}, owner{f} {}
      T await_resume() const {
        completion_awaiter::await_resume();
        return owner.take_result(await_call, {});
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
  /// Throws `closed` if there is no value: another coroutine may have moved it out during the wait.
  [[nodiscard]] T& value(const char* call, call_site at) const {
    return static_cast<detail::future_value<T>&>(state(call, at)).value;
  }
  [[nodiscard]] T take_result(const char* call, call_site at) {
    // If the move throws, the value stays in the future. Parentheses, because braces might select a
    // constructor that takes a std::initializer_list.
    T result(std::move(value(call, at)));
    delete static_cast<detail::future_value<T>*>(state_.release());
    return result;
  }

  std::unique_ptr<detail::future_state, detail::future_deleter> state_;
};

namespace detail {

/// Returns the completion of a future that is an argument of `call`.
template <class T>
completion completion_of(const future<T>& source, const char* call, call_site at) {
  if constexpr (std::is_void_v<T>) {
    return source;
  } else {
    if (!source.valid()) throw_used_future(call, at);
    return source.completion(at);
  }
}

/// Moves the value out of a future whose work is done. Does not call get(), which counts as a wait
/// and throws on threads where waits are forbidden.
template <class T>
T take_value(future<T>& done_future) {
  auto awaiter = std::move(done_future).operator co_await();
  static_cast<void>(awaiter.await_ready());
  return awaiter.await_resume();
}

}  // namespace detail

/// The result of stream.enqueue(f) if `f` returns void: a completion. It may be copied, and
/// awaited any number of times. A default-constructed future<void> is done.
template <>
class [[nodiscard]] future<void> : public completion {
 public:
  /// Creates a future without work. It is done.
  future() noexcept = default;
  /// Creates a future from a completion.
  explicit future(const weir::completion& end) noexcept : weir::completion{end} {}

  /// Returns the completion of the work.
  [[nodiscard]] weir::completion completion() const noexcept { return *this; }
  /// Blocks like wait().
  ///
  /// Throws: as wait().
  void get(call_site at = call_site::current()) const { wait(at); }
};

template <class F>
auto stream_ref::enqueue(F&& f, call_site at) const {
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

}  // namespace weir
