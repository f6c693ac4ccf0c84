// reactor/blocking_wait.hpp - threads that block until a point is settled.
#pragma once

#include "reactor/completion_queue.hpp"

#include <cstdint>

namespace weir::detail {

// Success, what the work failed with, or not_ready if the time, in nanoseconds, has passed first.
// The thread asks itself for as long as that pays, and then sleeps.
[[nodiscard]] errc wait_until_complete(completion_queue& queue, std::uint64_t ticket,
                                       long long timeout) noexcept;

}  // namespace weir::detail
