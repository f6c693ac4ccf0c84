// SPDX-License-Identifier: Apache-2.0
// reactor/blocking_wait.hpp - blocks a thread until a point is complete.
#pragma once

#include "reactor/completion_queue.hpp"

#include <cstdint>

namespace weir::detail {

// Blocks the calling thread until a point of the queue is complete, or until `timeout` nanoseconds
// have passed. A point is a position in a stream's work, and `ticket` is its number in the queue.
// Returns success, the error of the work, or not_ready after a timeout. The thread polls until the
// spin budget (spin_budget.hpp) is used up, and then sleeps. If no other thread could wake it, it
// goes on polling.
[[nodiscard]] errc wait_until_complete(completion_queue& queue, std::uint64_t ticket,
                                       long long timeout) noexcept;

}  // namespace weir::detail
