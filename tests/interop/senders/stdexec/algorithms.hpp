// SPDX-License-Identifier: Apache-2.0
// stdexec/algorithms.hpp - just, then and sync_wait of the replacement for stdexec.
#pragma once

#include <stdexec/concepts.hpp>

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace stdexec {

template <class R, class... Values>
struct just_operation {
  using operation_state_concept = operation_state_tag;
  void start() & noexcept {
    std::apply([this](auto&... each) { stdexec::set_value(std::move(to), std::move(each)...); },
               values);
  }
  R to;
  std::tuple<Values...> values;
};

template <class... Values>
struct just_sender {
  using sender_concept = sender_tag;
  template <class, class...>
  static consteval completion_signatures<set_value_t(Values...)> get_completion_signatures() {
    return {};
  }
  template <class R>
  just_operation<R, Values...> connect(R to) && {
    return {std::move(to), std::move(values)};
  }
  std::tuple<Values...> values;
};

template <class... Values>
auto just(Values... values) {
  return just_sender<Values...>{{std::move(values)...}};
}

template <class Result>
struct value_signature {
  using type = set_value_t(Result);
};
template <>
struct value_signature<void> {
  using type = set_value_t();
};
template <class F, class Signature>
struct signature_after {
  using type = Signature;
};
template <class F, class... Values>
struct signature_after<F, set_value_t(Values...)>
    : value_signature<std::invoke_result_t<F, Values...>> {};
template <class F, class... Signatures>
auto signatures_after(completion_signatures<Signatures...>)
    -> completion_signatures<typename signature_after<F, Signatures>::type...>;

template <class R, class F>
struct then_receiver {
  using receiver_concept = receiver_tag;
  template <class... Values>
  void set_value(Values&&... values) && noexcept {
    try {
      if constexpr (std::is_void_v<std::invoke_result_t<F, Values...>>) {
        std::move(f)(std::forward<Values>(values)...);
        stdexec::set_value(std::move(to));
      } else {
        stdexec::set_value(std::move(to), std::move(f)(std::forward<Values>(values)...));
      }
    } catch (...) {
      stdexec::set_error(std::move(to), std::current_exception());
    }
  }
  template <class Error>
  void set_error(Error&& failure) && noexcept {
    stdexec::set_error(std::move(to), std::forward<Error>(failure));
  }
  void set_stopped() && noexcept { stdexec::set_stopped(std::move(to)); }
  [[nodiscard]] env_of_t<R> get_env() const noexcept { return stdexec::get_env(to); }
  R to;
  F f;
};

template <class S, class F>
struct then_sender {
  using sender_concept = sender_tag;
  template <class, class... Env>
  static consteval auto get_completion_signatures() {
    return decltype(signatures_after<F>(completion_signatures_of_t<S, Env...>{})){};
  }
  template <class R>
  auto connect(R to) && {
    return stdexec::connect(std::move(from), then_receiver<R, F>{std::move(to), std::move(f)});
  }
  S from;
  F f;
};

template <class F>
struct then_closure {
  F f;
  template <sender S>
  friend auto operator|(S&& from, then_closure closure) {
    return then_sender<std::remove_cvref_t<S>, F>{std::forward<S>(from), std::move(closure.f)};
  }
};

template <class F>
auto then(F f) {
  return then_closure<F>{std::move(f)};
}
template <sender S, class F>
auto then(S&& from, F f) {
  return std::forward<S>(from) | then(std::move(f));
}

// The value types of a sender whose first completion signature is set_value_t.
template <class... Values, class... Others>
auto values_of(completion_signatures<set_value_t(Values...), Others...>) -> std::tuple<Values...>;

template <class Values>
struct sync_wait_state {
  std::mutex lock;
  std::condition_variable news;
  std::optional<Values> values;
  std::exception_ptr failure;
  bool over = false;

  void end() noexcept {
    const std::lock_guard hold{lock};
    over = true;
    news.notify_all();
  }
};

template <class Values>
struct sync_wait_receiver {
  using receiver_concept = receiver_tag;
  template <class... Each>
  void set_value(Each&&... values) && noexcept {
    state->values.emplace(std::forward<Each>(values)...);
    state->end();
  }
  void set_error(std::exception_ptr failure) && noexcept {
    state->failure = std::move(failure);
    state->end();
  }
  void set_stopped() && noexcept { state->end(); }
  sync_wait_state<Values>* state;
};

// Returns the values, or nothing if the sender was stopped.
template <sender_in<env<>> S>
auto sync_wait(S&& from) {
  using values = decltype(values_of(completion_signatures_of_t<S, env<>>{}));
  sync_wait_state<values> state;
  auto operation = stdexec::connect(std::forward<S>(from), sync_wait_receiver<values>{&state});
  stdexec::start(operation);
  std::unique_lock hold{state.lock};
  state.news.wait(hold, [&] { return state.over; });
  if (state.failure != nullptr) std::rethrow_exception(state.failure);
  return std::move(state.values);
}

}  // namespace stdexec
