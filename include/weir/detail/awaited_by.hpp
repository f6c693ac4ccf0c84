// weir/detail/awaited_by.hpp - something to be awaited, as a value.
#pragma once

#include <concepts>
#include <tuple>
#include <utility>

namespace weir::detail {

// What co_await makes an Awaiter of. It may be kept, and awaited again: each await is one of its own. It is no awaiter
// itself: g++ 12 copies those if a promise's await_transform() hands them on.
template <class Awaiter, class... Given>
class [[nodiscard]] awaited_by {
 public:
  explicit awaited_by(Given... given) : given_(std::move(given)...) {}

  [[nodiscard]] auto operator co_await() const& requires(std::copy_constructible<Given>&&...) {
    return std::make_from_tuple<Awaiter>(given_);
  }
  [[nodiscard]] auto operator co_await() && { return std::make_from_tuple<Awaiter>(std::move(given_)); }

 private:
  std::tuple<Given...> given_;
};

}  // namespace weir::detail
