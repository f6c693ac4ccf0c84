// weir/detail/completion_access.hpp - completions taken apart, by those that wait for them in a way
// of their own.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/detail/completion_waiter.hpp>

namespace weir::detail {

class completion_access {
 public:
  [[nodiscard]] static completion make(completion_queue& queue,
                                       unsigned long long ticket) noexcept {
    return completion{&queue, ticket};
  }
  // Null: of nothing.
  [[nodiscard]] static completion_queue* queue(const completion& c) noexcept { return c.queue_; }
  [[nodiscard]] static unsigned long long ticket(const completion& c) noexcept { return c.ticket_; }
};

}  // namespace weir::detail
