// SPDX-License-Identifier: Apache-2.0
// weir/detail/completion_access.hpp - access to the parts of a completion, for weir's own kinds of
// waits.
#pragma once

#include <weir/completion/completion.hpp>
#include <weir/detail/completion_waiter.hpp>

namespace weir::detail {

/// Gives access to the private parts of completions.
class completion_access {
 public:
  [[nodiscard]] static completion make(completion_queue& queue,
                                       unsigned long long ticket) noexcept {
    return completion{&queue, ticket};
  }
  /// Returns the queue; null for an empty completion.
  [[nodiscard]] static completion_queue* queue(const completion& c) noexcept { return c.queue_; }
  [[nodiscard]] static unsigned long long ticket(const completion& c) noexcept { return c.ticket_; }
};

}  // namespace weir::detail
