// SPDX-License-Identifier: Apache-2.0
// weir/detail/awaitable_of.hpp - awaitables that are plain values.
#pragma once

#include <concepts>
#include <tuple>
#include <utility>

namespace weir::detail {

/// An awaitable that holds the constructor arguments of an Awaiter. It may be stored and awaited
/// several times; each co_await creates a new Awaiter. It is not an awaiter itself, because g++ 12
/// copies an awaiter that a promise's await_transform() returns.
template <class Awaiter, class... Args>
class [[nodiscard]] awaitable_of {
 public:
  explicit awaitable_of(Args... args) : args_(std::move(args)...) {}

  [[nodiscard]] auto operator co_await() const& requires(std::copy_constructible<Args>&&...) {
    return std::make_from_tuple<Awaiter>(args_);
  }
  [[nodiscard]] auto operator co_await() && {
    return std::make_from_tuple<Awaiter>(std::move(args_));
  }

 private:
  std::tuple<Args...> args_;
};

}  // namespace weir::detail
