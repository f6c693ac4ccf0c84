// SPDX-License-Identifier: Apache-2.0
// stdexec/stop_token.hpp - the stop tokens of the replacement for stdexec.
#pragma once

#include <concepts>
#include <stop_token>
#include <utility>

namespace stdexec {

class never_stop_token {
  struct callback {
    template <class... Any>
    explicit callback(const Any&...) noexcept {}
  };

 public:
  template <class>
  using callback_type = callback;
  static constexpr bool stop_requested() noexcept { return false; }
  static constexpr bool stop_possible() noexcept { return false; }
  friend bool operator==(never_stop_token, never_stop_token) noexcept = default;
};

class inplace_stop_token {
  template <class F>
  struct callback : std::stop_callback<F> {
    callback(const inplace_stop_token& token, F f)
        : std::stop_callback<F>{token.token_, std::move(f)} {}
  };

 public:
  template <class F>
  using callback_type = callback<F>;
  inplace_stop_token() noexcept = default;
  explicit inplace_stop_token(std::stop_token token) noexcept : token_{std::move(token)} {}
  [[nodiscard]] bool stop_requested() const noexcept { return token_.stop_requested(); }
  [[nodiscard]] bool stop_possible() const noexcept { return token_.stop_possible(); }
  friend bool operator==(const inplace_stop_token&, const inplace_stop_token&) noexcept = default;

 private:
  std::stop_token token_;
};

class inplace_stop_source {
 public:
  [[nodiscard]] inplace_stop_token get_token() const noexcept {
    return inplace_stop_token{source_.get_token()};
  }
  bool request_stop() noexcept { return source_.request_stop(); }

 private:
  std::stop_source source_;
};

template <class Token>
concept stoppable_token = std::copyable<Token> && std::equality_comparable<Token> &&
    requires(const Token token) {
  typename Token::template callback_type<void (*)()>;
  requires noexcept(token.stop_requested() && token.stop_possible());
};
template <class Token>
concept unstoppable_token = stoppable_token<Token> && requires {
  requires !Token::stop_possible();
};

}  // namespace stdexec
