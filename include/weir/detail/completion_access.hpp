// weir/detail/completion_access.hpp - completions taken apart, by those that wait for them in a way of their own.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/detail/completion_waiter.hpp>

namespace weir::detail {

class completion_access {
 public:
  [[nodiscard]] static completion make(lane& where, unsigned long long ticket) noexcept {
    return completion{&where, ticket};
  }
  // Null: of nothing.
  [[nodiscard]] static lane* where(const completion& c) noexcept { return c.where_; }
  [[nodiscard]] static unsigned long long ticket(const completion& c) noexcept { return c.ticket_; }
};

}  // namespace weir::detail
