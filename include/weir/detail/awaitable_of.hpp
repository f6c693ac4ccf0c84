// weir/detail/awaitable_of.hpp - something to be awaited, as a value.
#pragma once

#include <concepts>
#include <tuple>
#include <utility>

namespace weir::detail {

// What co_await makes an Awaiter of. It may be kept, and awaited again: each await is one of its
// own. It is no awaiter itself: g++ 12 copies those if a promise's await_transform() hands them on.
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
