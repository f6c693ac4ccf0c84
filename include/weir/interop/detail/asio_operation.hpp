// SPDX-License-Identifier: Apache-2.0
// weir/interop/detail/asio_operation.hpp - an Asio handler that waits for work of a device.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/completion/future.hpp>
#include <weir/core/call_site.hpp>
#include <weir/core/errc.hpp>
#include <weir/detail/completion_access.hpp>
#include <weir/detail/completion_waiter.hpp>
#include <weir/interop/detail/asio_waits.hpp>

#include <asio/associated_allocator.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/cancellation_type.hpp>
#include <asio/dispatch.hpp>
#include <asio/error.hpp>
#include <asio/execution/context.hpp>
#include <asio/execution/executor.hpp>
#include <asio/execution_context.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/is_executor.hpp>
#include <asio/post.hpp>
#include <asio/query.hpp>
#include <asio/system_context.hpp>
#include <asio/system_executor.hpp>
#include <concepts>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace weir::detail {

/// An executor of either executor model of Asio: the one with properties, or the older one of the
/// Networking TS.
template <class E>
concept asio_executor = ::asio::execution::is_executor<E>::value || ::asio::is_executor<E>::value;

/// An executor with properties that has an execution context of its own.
template <class E>
concept asio_executor_with_context = requires(const E& e) {
  {
    ::asio::query(e, ::asio::execution::context)
    } -> std::convertible_to<::asio::execution_context&>;
  requires !std::same_as<decltype(::asio::query(e, ::asio::execution::context)),
                         ::asio::system_context&>;
};

/// An executor of the Networking TS.
template <class E>
concept asio_ts_executor = !::asio::execution::is_executor<E>::value && requires(const E& e) {
  { e.context() } -> std::convertible_to<::asio::execution_context&>;
};

/// True for executors without a context of their own, which call functions on the submitting
/// thread: the system executor, which stands for "no executor", and the executor of futures.
template <class E>
inline constexpr bool calls_in_place = !asio_executor_with_context<E> && !asio_ts_executor<E>;

/// Returns the pending waits of the executor's context. Executors without a context share one
/// object.
template <class E>
[[nodiscard]] asio_waits& waits_of(const E& executor) {
  if constexpr (asio_executor_with_context<E>) {
    ::asio::execution_context& context = ::asio::query(executor, ::asio::execution::context);
    return ::asio::use_service<asio_wait_service>(context).waits();
  } else if constexpr (asio_ts_executor<E>) {
    ::asio::execution_context& context = executor.context();
    return ::asio::use_service<asio_wait_service>(context).waits();
  } else {
    // never destroyed: reactor threads use it until the process ends
    static auto* const without_context = new asio_waits{true};
    return *without_context;
  }
}

/// A pending wait, in memory of the handler's allocator. `Source` is asio_completion or
/// asio_future: it names the completion to wait for, and calls the handler with the result.
template <class Handler, class Executor, class Source>
class asio_operation final : public asio_wait {
  using executor_type = ::asio::associated_executor_t<Handler, Executor>;
  using handler_allocator = ::asio::associated_allocator_t<Handler>;
  using memory =
      typename std::allocator_traits<handler_allocator>::template rebind_traits<asio_operation>;

  struct operation_deleter {
    void operator()(asio_operation* operation) const noexcept {
      static_cast<void>(operation->destroy_and_take_state());
    }
  };
  using owner = std::unique_ptr<asio_operation, operation_deleter>;

  /// The members that outlive the operation: its memory is freed before the handler is called.
  /// `work` makes the executor count as having work until the handler has returned.
  struct handler_state {
    Handler handler;
    ::asio::executor_work_guard<executor_type> work;
    Source source;
  };

 public:
  /// Starts a wait. If it throws, no wait was started and the handler is destroyed.
  static void start(Handler handler, const Executor& fallback, Source source) {
    typename memory::allocator_type allocator{::asio::get_associated_allocator(handler)};
    asio_operation* const storage = memory::allocate(allocator, 1);
    const executor_type executor = ::asio::get_associated_executor(handler, fallback);
    owner operation{::new (static_cast<void*>(storage))
                        asio_operation{std::move(handler), executor, std::move(source)}};
    asio_operation& started = *operation;
    started.wait(std::move(operation));
  }

  void complete(errc outcome, bool cancelled) noexcept override {
    outcome_ = outcome;
    cancelled_ = cancelled;
    submit(owner{this});
  }

  void destroy() noexcept override { static_cast<void>(destroy_and_take_state()); }

 private:
  struct canceller {
    void operator()(::asio::cancellation_type type) const noexcept {
      constexpr auto any = ::asio::cancellation_type::terminal |
                           ::asio::cancellation_type::partial | ::asio::cancellation_type::total;
      if ((type & any) != ::asio::cancellation_type::none) pending_waits->cancel(*at, generation);
    }
    asio_waits* pending_waits;
    asio_waits::slot* at;
    unsigned long long generation;
  };

  /// The function object that the executor calls; it calls the handler. If the executor destroys it
  /// without a call, the handler is destroyed.
  struct ready {
    using allocator_type = handler_allocator;
    [[nodiscard]] allocator_type get_allocator() const noexcept {
      return ::asio::get_associated_allocator(operation->state_.handler);
    }
    void operator()() { std::exchange(operation, nullptr).release()->call(); }
    owner operation;
  };

  asio_operation(Handler&& handler, const executor_type& executor, Source&& source)
      : state_{std::move(handler), ::asio::executor_work_guard<executor_type>{executor},
               std::move(source)} {}
  ~asio_operation() = default;

  /// Registers the wait. If the work is done already, passes the handler to the executor at once;
  /// if the executor would call it on this thread, a reactor thread passes it.
  void wait(owner self) {
    const completion awaited = state_.source.awaited();
    completion_queue* const queue = completion_access::queue(awaited);
    asio_waits& pending_waits = waits_of(state_.work.get_executor());
    asio_waits::slot& at = pending_waits.acquire(*this, queue);
    try {
      auto slot = ::asio::get_associated_cancellation_slot(state_.handler);
      if (slot.is_connected())
        slot.template emplace<canceller>(canceller{&pending_waits, &at, at.generation});
      const bool waits =
          queue != nullptr && add_waiter(*queue, completion_access::ticket(awaited), at);
      if constexpr (calls_in_place<executor_type>) {
        if (!waits) post_completion(queue, at);
      }
      if (waits || calls_in_place<executor_type>) {
        // by now, another thread may have completed and destroyed the operation
        static_cast<void>(self.release());
        return;
      }
    } catch (...) {
      pending_waits.discard(at);
      throw;
    }
    outcome_ = at.outcome;
    pending_waits.discard(at);
    submit(std::move(self));
  }

  /// Passes the handler to its executor.
  static void submit(owner operation) {
    const executor_type executor = operation->state_.work.get_executor();
    if constexpr (calls_in_place<executor_type>) {
      ::asio::dispatch(executor, ready{std::move(operation)});
    } else {
      ::asio::post(executor, ready{std::move(operation)});
    }
  }

  /// Destroys this object and calls the handler.
  void call() {
    const errc outcome = outcome_;
    const bool cancelled = cancelled_;
    handler_state state = destroy_and_take_state();
    state.source.call(state.handler, outcome, cancelled);
  }

  /// Destroys this object, frees its memory and returns its handler_state.
  [[nodiscard]] handler_state destroy_and_take_state() noexcept {
    handler_state state{std::move(state_)};
    typename memory::allocator_type allocator{::asio::get_associated_allocator(state.handler)};
    this->~asio_operation();
    memory::deallocate(allocator, this, 1);
    return state;
  }

  handler_state state_;
  errc outcome_ = errc::success;
  bool cancelled_ = false;
};

/// Throws operation_aborted if the wait was cancelled; otherwise what co_await of the completion
/// throws, if anything.
inline void throw_asio_outcome(const completion& awaited, errc outcome, bool cancelled,
                               call_site at) {
  if (cancelled) throw std::system_error{::asio::error::operation_aborted};
  throw_outcome(completion_access::queue(awaited), completion_access::ticket(awaited), outcome,
                "weir::async_wait", at);
}

/// A completion as the Source of an asio_operation.
struct asio_completion {
  completion awaited_object;
  call_site at;

  [[nodiscard]] const completion& awaited() const noexcept { return awaited_object; }

  template <class Handler>
  void call(Handler& handler, errc outcome, bool cancelled) const {
    std::exception_ptr failure;
    try {
      throw_asio_outcome(awaited_object, outcome, cancelled, at);
    } catch (...) {
      failure = std::current_exception();
    }
    std::move(handler)(std::move(failure));
  }
};

/// The type in which a handler gets a future's value. If the wait failed, the handler gets a
/// default-constructed object: a T if that cannot throw, else an empty optional<T>.
template <class T>
using asio_value =
    std::conditional_t<std::is_nothrow_default_constructible_v<T>, T, std::optional<T>>;

/// A future as the Source of an asio_operation. Its value is moved to the handler.
template <class T>
struct asio_future {
  future<T> awaited_object;
  call_site at;

  [[nodiscard]] completion awaited() const {
    return completion_of(awaited_object, "weir::async_wait", at);
  }

  template <class Handler>
  void call(Handler& handler, errc outcome, bool cancelled) {
    std::exception_ptr failure;
    std::optional<T> value;
    try {
      throw_asio_outcome(awaited_object.completion(at), outcome, cancelled, at);
      value.emplace(take_value(awaited_object));
    } catch (...) {
      failure = std::current_exception();
    }
    if constexpr (!std::same_as<asio_value<T>, T>) {
      std::move(handler)(std::move(failure), std::move(value));
    } else if (value.has_value()) {
      std::move(handler)(std::move(failure), *std::move(value));
    } else {
      std::move(handler)(std::move(failure), T{});
    }
  }
};

/// Makes the checks that can throw, starts the reactor's thread if it is needed, and returns the
/// source. Called before Asio's token begins the wait: a token that begins it while a coroutine is
/// suspended, such as use_awaitable, could not report an exception.
template <class Source>
[[nodiscard]] Source&& asio_source(Source&& source) {
  const completion awaited = source.awaited();
  completion_queue* const queue = completion_access::queue(awaited);
  const bool waits = queue != nullptr &&
                     known_outcome(*queue, completion_access::ticket(awaited)) == errc::not_ready;
  if (waits) ensure_reactor_thread(queue);
  return std::move(source);
}

/// The function object that Asio's completion tokens call to start the wait.
struct begin_asio_wait {
  template <class Handler, class Source>
  void operator()(Handler&& handler, Source&& source) const {
    using operation =
        asio_operation<std::decay_t<Handler>, ::asio::system_executor, std::decay_t<Source>>;
    operation::start(std::forward<Handler>(handler), {}, std::forward<Source>(source));
  }
};

/// Like begin_asio_wait, with an executor for handlers that have no associated executor.
template <class Executor>
struct begin_asio_wait_at {
  using executor_type = Executor;
  [[nodiscard]] executor_type get_executor() const noexcept { return fallback; }

  template <class Handler, class Source>
  void operator()(Handler&& handler, Source&& source) const {
    using operation = asio_operation<std::decay_t<Handler>, Executor, std::decay_t<Source>>;
    operation::start(std::forward<Handler>(handler), fallback, std::forward<Source>(source));
  }

  Executor fallback;
};

}  // namespace weir::detail
